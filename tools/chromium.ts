import { existsSync } from 'node:fs'
import { installAptPackages, mayInstallPackages } from './apt.ts'

/** @returns the browser of the page tests, or undefined if there is none; these tests then skip with a reason */
export function findChromium(): string | undefined {
  const candidates = [
    process.env['PENSTOCK_CHROMIUM'],
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ]
  return candidates.find((path) => path !== undefined && existsSync(path))
}

/** Installs Debian's Chromium if possible. Otherwise it prints why the page tests will skip. */
export async function provideChromium(): Promise<void> {
  if (findChromium()) return
  const install = 'apt-get install -y --no-install-recommends chromium'
  if (!mayInstallPackages()) {
    console.log(`No Chromium found, so the page tests will be skipped. To run them: sudo ${install}, or set PENSTOCK_CHROMIUM.`)
    return
  }
  console.log('Installing Chromium for the page tests (once, by apt-get) ...')
  const fault = await installAptPackages('chromium')
  if (fault === undefined) return
  console.log(fault)
  console.log(`Chromium could not be installed, so the page tests will be skipped. Try to install it yourself: ${install}`)
}
