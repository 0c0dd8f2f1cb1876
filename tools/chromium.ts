import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** @returns the browser of the page tests, or undefined where there is none: such tests skip and say so. */
export function findChromium(): string | undefined {
  const candidates = [
    process.env['PENSTOCK_CHROMIUM'],
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ]
  return candidates.find((path) => path !== undefined && existsSync(path))
}

/** Installs Debian's Chromium where that is possible; elsewhere it says in one line why the page tests will skip. */
export function provideChromium(): void {
  if (findChromium()) return
  const install = 'apt-get install -y --no-install-recommends chromium'
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    console.log(
      `No Chromium here, so tests of pages will be skipped. To run them: sudo ${install}, or name one in PENSTOCK_CHROMIUM.`,
    )
    return
  }
  console.log('Installing Chromium for the tests of pages (once, by apt-get) ...')
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `apt-get update && ${install}`], {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: 300_000,
  })
  if (status === 0 && findChromium()) return
  console.log(`${stdout}${stderr}`.trimEnd().split('\n').slice(-3).join('\n'))
  console.log(`Chromium could not be installed, so tests of pages will be skipped. Try yourself: ${install}`)
}
