import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildComposePrograms, createComposeRecipe } from './programs/compose.ts'
import { findGoSkipReason } from './programs/go.ts'
import { runSuccessfully } from '../support/processes.ts'

export const COMPOSE_ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The reason why this machine cannot check compose files, as a sentence, or undefined. */
export const composeSkipReason = await findGoSkipReason(await createComposeRecipe())

/** The timeout of a suite's first hook, which may have to build docker-compose. */
export const BUILD_TIMEOUT_MS = 30 * 60_000

export type ComposeVolume = {
  readonly type: string
  readonly source: string
  readonly target: string
  readonly read_only?: boolean
}
type ComposeService = {
  readonly image: string
  readonly command: readonly string[] | null
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly ComposeVolume[]
  readonly ports?: readonly { readonly host_ip: string }[]
  readonly networks?: Readonly<Record<string, unknown>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly read_only?: boolean
  readonly build?: object
  readonly pull_policy?: string
  readonly restart?: string
  readonly init?: boolean
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly cap_add?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly mem_limit?: string
}
export type ComposeProject = {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
}

/** Reads a compose file of the repository by the program docker-compose. */
export function readComposeFile(name: string, profiles: readonly string[] = []) {
  const config = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const program = join(await buildComposePrograms(), 'docker-compose')
    const profileArgs = profiles.flatMap((profile) => ['--profile', profile])
    return runSuccessfully(program, ['--file', join(COMPOSE_ROOT, name), ...profileArgs, 'config', ...args], {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    })
  }
  return {
    /** Runs the check of docker-compose, which prints every error. */
    said: async () => {
      const { stdout, stderr } = await config(['--quiet'])
      return { stdout, stderr }
    },
    project: async (env: Readonly<Record<string, string>> = {}): Promise<ComposeProject> =>
      JSON.parse((await config(['--format', 'json'], env)).stdout) as ComposeProject, // docker-compose printed it
  }
}

const isOwnImage = ({ image }: ComposeService): boolean => image.startsWith('penstock:')

/** Lists own services: those that run our image. */
export const listOwnServices = ({ services }: Pick<ComposeProject, 'services'>): readonly (readonly [string, ComposeService])[] =>
  Object.entries(services).filter(([, service]) => isOwnImage(service))

/** Lists services that run an image of another vendor. */
export const listForeignServices = ({
  services,
}: Pick<ComposeProject, 'services'>): readonly (readonly [string, ComposeService])[] =>
  Object.entries(services).filter(([, service]) => !isOwnImage(service))

type BuildNames = { readonly builds: readonly string[]; readonly pulled: readonly string[] }

/** Services that build our image, and services that would pull an image of this name from a registry. */
export function listBuilds(project: Pick<ComposeProject, 'services'>): BuildNames {
  const listNames = (isIncluded: (service: ComposeService) => boolean) =>
    listOwnServices(project).flatMap(([name, service]) => (isIncluded(service) ? [name] : []))
  return {
    builds: listNames(({ build }) => build !== undefined),
    pulled: listNames(({ pull_policy: policy }) => policy !== 'never'),
  }
}

/** Own services that run as process 1 of their container. The kernel ignores signals to process 1 that have no handler. */
export const listWithoutInit = (project: Pick<ComposeProject, 'services'>): readonly string[] =>
  listOwnServices(project).flatMap(([name, { init }]) => (init === true ? [] : [name]))

/** One-shot services that restart for ever if they fail, so that `up --wait` would never end. */
export const listRestartedForever = ({ services }: Pick<ComposeProject, 'services'>): readonly string[] =>
  Object.entries(services).flatMap(([name, { restart = '' }]) => (restart === 'on-failure' ? [name] : []))
