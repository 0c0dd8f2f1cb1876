import { execFileSync } from 'node:child_process'
import { isThere, placeOf, type Recipe } from './build-once.ts'

const LEAST = [1, 26] as const

/** @returns why a recipe cannot be made on this machine; undefined where it can, or was */
export async function goMissing(recipe: Recipe): Promise<string | undefined> {
  if (isThere(await placeOf(recipe))) return undefined
  const version = goVersion()
  const [major = 0, minor = 0] =
    /go(\d+)\.(\d+)/
      .exec(version ?? '')
      ?.slice(1)
      .map(Number) ?? []
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return undefined
  return `${recipe.name} is built with Go ${LEAST.join('.')} or newer, and here is ${version ?? 'none'}.`
}

function goVersion(): string | undefined {
  try {
    return execFileSync('go', ['version'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
