import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { composePrograms, composeRecipe } from './programs/compose.ts'
import { goMissing } from './programs/go.ts'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Why no compose file can be checked here, in a sentence; undefined where it can. */
export const composeMissing = await goMissing(await composeRecipe())

/** What the first one to build the program may take. */
export const BUILT_WITHIN_MS = 30 * 60_000

export type Volume = { readonly type: string; readonly source: string; readonly target: string; readonly read_only?: boolean }
type Service = {
  readonly image: string
  readonly command: readonly string[] | null
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly Volume[]
  readonly ports?: readonly { readonly host_ip: string }[]
  readonly networks?: Readonly<Record<string, unknown>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly read_only?: boolean
}
export type Project = {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
}

/** What docker compose itself makes of a file of the repository. */
export function composeFile(name: string, profiles: readonly string[] = []) {
  const config = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const program = join(await composePrograms(), 'docker-compose')
    const chosen = profiles.flatMap((profile) => ['--profile', profile])
    return run(program, ['--file', join(root, name), ...chosen, 'config', ...args], {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    })
  }
  return {
    /** Everything that it has to complain about. */
    said: () => config(['--quiet']),
    project: async (env: Readonly<Record<string, string>> = {}): Promise<Project> =>
      JSON.parse((await config(['--format', 'json'], env)).stdout) as Project, // compose made it
  }
}

/** Those of our own image. */
export const oursOf = ({ services }: Pick<Project, 'services'>): readonly (readonly [string, Service])[] =>
  Object.entries(services).filter(([, { image }]) => image.startsWith('penstock:'))
