# One command from a Windows machine with Python 3.11 or 3.12 to a running demo or a passed test suite:
#   powershell -ExecutionPolicy Bypass -File packaging\setup.ps1 demo
#   powershell -ExecutionPolicy Bypass -File packaging\setup.ps1 test
# Not tried on Windows yet: written beside packaging/setup.sh, step for step.
param([string]$What = "none", [Parameter(ValueFromRemainingArguments)][string[]]$Rest)
$ErrorActionPreference = "Stop"
Set-Location (Join-Path $PSScriptRoot "..")

function Invoke-Checked {
    param([string]$Program, [string[]]$Words)
    & $Program @Words
    if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
}

$python = ".venv\Scripts\python.exe"
if (-not (Test-Path $python)) {
    $made = $false
    foreach ($version in "3.12", "3.11") {
        & py "-$version" -m venv .venv
        if ($LASTEXITCODE -eq 0) { $made = $true; break }
    }
    if (-not $made) { Write-Error "Install Python 3.12 from python.org first." }
}
switch ($What) {
    "test" {
        Invoke-Checked $python @("-m", "pip", "install", "--quiet", "--editable", ".[test]")
        Invoke-Checked $python (@("-m", "pytest") + $Rest)
    }
    "demo" {
        Invoke-Checked $python @("-m", "pip", "install", "--quiet", ".")
        Invoke-Checked ".venv\Scripts\mince.exe" (@("demo") + $Rest)
    }
    "none" { Invoke-Checked $python @("-m", "pip", "install", "--quiet", ".") }
    default { Write-Error "usage: setup.ps1 [demo|test] [more words]" }
}
