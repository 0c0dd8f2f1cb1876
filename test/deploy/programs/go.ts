import { runProgramSync } from '../../support/processes.ts'
import { getBuildFolder, type BuildRecipe } from './build-once.ts'
import { isFilled } from '../../support/cache-folder.ts'

const MIN_GO_VERSION = [1, 26] as const

/** @returns the reason why this machine cannot build the recipe, or undefined if it can build it or has built it already */
export async function findGoSkipReason(recipe: BuildRecipe): Promise<string | undefined> {
  if (isFilled(await getBuildFolder(recipe))) return undefined
  const version = readGoVersion()
  const [major = 0, minor = 0] =
    /go(\d+)\.(\d+)/
      .exec(version ?? '')
      ?.slice(1)
      .map(Number) ?? []
  if (major > MIN_GO_VERSION[0] || (major === MIN_GO_VERSION[0] && minor >= MIN_GO_VERSION[1])) return undefined
  return `${recipe.name} needs Go ${MIN_GO_VERSION.join('.')} or newer for its build, and this machine has ${version ?? 'none'}.`
}

function readGoVersion(): string | undefined {
  const { code, stdout } = runProgramSync('go', ['version'])
  return code === 0 ? stdout.trim() : undefined
}
