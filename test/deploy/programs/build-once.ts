import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

export type Recipe = {
  /** Folder in the cache. */
  readonly name: string
  readonly version: string
  /** Whatever the result depends on: their contents are part of the folder's name. */
  readonly files: readonly string[]
  /** Goes up when the same files make something else. */
  readonly revision: number
  readonly make: (folder: string) => Promise<void>
}

/** Where the result is, or will be: outside of the checkout, one folder for each content of the recipe's files. */
export async function placeOf({ name, version, files, revision }: Recipe): Promise<string> {
  const hash = createHash('sha256').update(String(revision))
  for (const file of files) hash.update(await readFile(file))
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'penstock', name, `${version}-${hash.digest('hex').slice(0, 12)}`)
}

export const isThere = (folder: string): boolean => existsSync(join(folder, 'complete'))

/**
 * Builds into a folder beside and renames it, so that a build cut short never looks done, and of two at once one wins.
 * @returns the folder, at once where it is there
 */
export async function buildOnce(recipe: Recipe): Promise<string> {
  const place = await placeOf(recipe)
  if (isThere(place)) return place
  console.log(`Building ${recipe.name} ${recipe.version}, once: this takes minutes.`)
  await mkdir(dirname(place), { recursive: true })
  const partial = await mkdtemp(`${place}.partial-`)
  try {
    await recipe.make(partial)
    await writeFile(join(partial, 'complete'), '')
    await chmod(partial, 0o755)
    await rename(partial, place)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (!isThere(place)) throw error
  }
  return place
}

/** Runs Go in a module of its own, behind whoever else needs the machine. */
export async function go(module: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout } = await exec('nice', ['-n', '10', 'go', ...args], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', ...env },
    maxBuffer: 64 << 20,
  })
  return stdout
}
