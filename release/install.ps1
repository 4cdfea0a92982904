# Installs headstart @VERSION@ for this user: fetches the archive, compares its sum with the one below, and puts headstart.exe into
# $env:HEADSTART_INSTALL_DIR, else %LOCALAPPDATA%\Programs\headstart. Nothing else is changed, not even the Path. To remove it, remove that file.
# Needs tar, which is part of Windows since version 1803.
& {
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue'
    $version = '@VERSION@'
    $url = '@URL@'
    $sums = '@SUMS@'

    # There is one binary; Windows on arm64 runs it as well.
    $name = "headstart-$version-x86_64-pc-windows-msvc"
    $line = $sums -split "`n" | Where-Object { $_.Trim().EndsWith(" $name.tar.gz") }
    if (-not $line) { throw "headstart: this release has no $name; build it: cargo install headstart" }
    $wanted = ($line.Trim() -split ' ')[0]
    $folder = $env:HEADSTART_INSTALL_DIR
    if (-not $folder) { $folder = Join-Path $env:LOCALAPPDATA 'Programs\headstart' }
    $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory $work | Out-Null
    try {
        $archive = Join-Path $work 'archive.tar.gz'
        [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
        Invoke-WebRequest -UseBasicParsing "$url/$name.tar.gz" -OutFile $archive
        $found = (Get-FileHash -Algorithm SHA256 $archive).Hash.ToLowerInvariant()
        if ($found -ne $wanted) { throw "headstart: $name.tar.gz is not what was released: its SHA-256 is $found, not $wanted; nothing was installed" }
        # The tar of Windows, because another one in the Path may take C: for a host.
        & "$env:SystemRoot\System32\tar.exe" -xzf $archive -C $work "$name/headstart.exe"
        if ($LASTEXITCODE) { throw "headstart: $name.tar.gz cannot be unpacked" }
        $new = Join-Path $work "$name\headstart.exe"
        $says = & $new --version
        if ($LASTEXITCODE) { throw 'headstart: the binary does not run here; build it: cargo install headstart' }
        New-Item -ItemType Directory -Force $folder | Out-Null
        $binary = Join-Path $folder 'headstart.exe'
        # A program that runs cannot be overwritten, but it can be renamed; it goes on with the old file.
        Get-ChildItem -Force $folder -Filter '.headstart-*.old' | Remove-Item -Force -ErrorAction SilentlyContinue
        if (Test-Path $binary) { Move-Item -Force $binary (Join-Path $folder ('.headstart-' + [IO.Path]::GetRandomFileName() + '.old')) }
        Move-Item $new $binary
        Get-ChildItem -Force $folder -Filter '.headstart-*.old' | Remove-Item -Force -ErrorAction SilentlyContinue
        Write-Output "installed: $binary ($says)"
        $paths = $env:Path -split ';' | ForEach-Object { $_.TrimEnd('\') }
        if ($paths -contains $folder.TrimEnd('\')) { Write-Output 'Next: headstart' }
        else { Write-Output "$folder is not in your Path; add it, or start $binary" }
    }
    finally { Remove-Item -Recurse -Force $work }
}
