import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'penstock')
const folder = join(cache, 'prometheus')
const inFolder = join(folder, 'usr/bin/promtool')
const FETCH_TIMEOUT_MS = 60_000

/**
 * The checker of Prometheus' rules: the machine's own, or Debian's, unpacked into the cache beside nothing that is installed.
 * @returns its path, or why it cannot be had
 */
export function providePromtool(): { readonly path: string } | { readonly missing: string } {
  if (spawnSync('promtool', ['--version']).status === 0) return { path: 'promtool' }
  if (!existsSync(inFolder)) {
    const missing = fetched()
    if (missing !== undefined) return { missing }
  }
  return { path: inFolder }
}

/** Filled beside its place and renamed, so that half of it is never taken for the whole. */
function fetched(): string | undefined {
  mkdirSync(cache, { recursive: true })
  const beside = mkdtempSync(join(cache, 'prometheus-'))
  try {
    const fetch = spawnSync('apt-get', ['download', 'prometheus'], { cwd: beside, encoding: 'utf8', timeout: FETCH_TIMEOUT_MS })
    const [archive] = readdirSync(beside)
    if (fetch.status !== 0 || archive === undefined) return 'there is no promtool, and no Debian to get it from'
    if (spawnSync('dpkg', ['-x', archive, 'unpacked'], { cwd: beside }).status !== 0)
      return "Debian's prometheus cannot be unpacked"
    if (!existsSync(inFolder)) renameSync(join(beside, 'unpacked'), folder)
    return undefined
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}
