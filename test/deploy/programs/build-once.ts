import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runSuccessfully } from '../../support/processes.ts'
import { CACHE_FOLDER, fillOnce, isFilled } from '../../support/cache-folder.ts'

export type BuildRecipe = {
  /** The name of the folder in the cache. */
  readonly name: string
  readonly version: string
  /** The files on which the result depends. The folder's name contains a hash of them. */
  readonly files: readonly string[]
  /** Has to increase when a change of the build's code leads to a different result from the same files. */
  readonly revision: number
  readonly build: (folder: string) => Promise<void>
}

/** The folder of the result, outside the checkout. Each version of the recipe's files has a separate folder. */
export async function getBuildFolder({ name, version, files, revision }: BuildRecipe): Promise<string> {
  const hash = createHash('sha256').update(String(revision))
  for (const file of files) hash.update(await readFile(file))
  return join(CACHE_FOLDER, name, `${version}-${hash.digest('hex').slice(0, 12)}`)
}

/**
 * Builds into a temporary folder and renames it. So an interrupted build is never used, and one of two concurrent builds wins.
 * @returns the folder, without a build if it already exists
 */
export async function buildOnce(recipe: BuildRecipe): Promise<string> {
  const folder = await getBuildFolder(recipe)
  if (!isFilled(folder)) console.log(`Building ${recipe.name} ${recipe.version}, once: this takes minutes.`)
  return fillOnce(folder, recipe.build)
}

/** Runs Go in the folder of a module, at a low priority. */
export async function runGo(
  module: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await runSuccessfully('nice', ['-n', '10', 'go', ...args], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', ...env },
  })
  return stdout
}
