import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { downloadAptPackage, mayInstallPackages } from './apt.ts'
import { runProgramSync } from '../test/support/processes.ts'
import { CACHE_FOLDER } from '../test/support/cache-folder.ts'

const folder = join(CACHE_FOLDER, 'prometheus')
const promtoolPath = join(folder, 'usr/bin/promtool')

/**
 * Provides promtool, which checks Prometheus rules: the installed program, or Debian's package unpacked into the cache.
 * @returns its path, or the reason why it is missing
 */
export async function providePromtool(): Promise<{ readonly path: string } | { readonly missing: string }> {
  if (runProgramSync('promtool', ['--version']).code === 0) return { path: 'promtool' }
  if (!existsSync(promtoolPath)) {
    const missing = await fetchPromtool()
    if (missing !== undefined) return { missing }
  }
  return { path: promtoolPath }
}

/** Fetches into a temporary folder and then renames it, so that an incomplete copy is never used. */
async function fetchPromtool(): Promise<string | undefined> {
  if (!mayInstallPackages()) return 'promtool is missing, and this machine cannot install Debian packages'
  mkdirSync(CACHE_FOLDER, { recursive: true })
  const partial = mkdtempSync(join(CACHE_FOLDER, 'prometheus-'))
  try {
    const fault = await downloadAptPackage('prometheus', partial)
    const [archive] = readdirSync(partial)
    if (fault !== undefined || archive === undefined) return `promtool is missing, and fetching Debian's package failed: ${fault}`
    if (runProgramSync('dpkg', ['-x', archive, 'unpacked'], { cwd: partial }).code !== 0)
      return "Debian's prometheus cannot be unpacked"
    if (!existsSync(promtoolPath)) renameSync(join(partial, 'unpacked'), folder)
    return undefined
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}
