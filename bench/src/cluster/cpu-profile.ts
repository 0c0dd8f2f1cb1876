import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The fields of a .cpuprofile file that this module reads. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  /** The node on top of the stack at each sample. */
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

export type FunctionTime = { readonly name: string; readonly selfMs: number }

const SAMPLE_INTERVAL_US = 2000
const SHOWN_FUNCTIONS = 20
/** Frames in which the process uses no CPU. */
const IDLE_FRAMES = new Set(['(idle)', '(root)'])

/** Environment variables by which Node.js writes a profile of each process into the folder when the process ends. */
export const profileEnv = (folder: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${SAMPLE_INTERVAL_US}`,
})

/**
 * Sums the self time of each function over several profiles. On a busy machine it includes waits for a core, so only the shares
 * of functions are comparable.
 * @returns the longest time first, without idle time
 */
export function sumSelfTimes(profiles: readonly CpuProfile[]): readonly FunctionTime[] {
  const selfUs = new Map<string, number>()
  for (const { nodes, samples, timeDeltas } of profiles) {
    const names = new Map(nodes.map(({ id, callFrame }) => [id, formatFunction(callFrame)]))
    // A sample shows the function that runs until the next sample.
    for (const [index, id] of samples.entries()) {
      const name = names.get(id)
      if (name !== undefined) selfUs.set(name, (selfUs.get(name) ?? 0) + (timeDeltas[index + 1] ?? 0))
    }
  }
  return [...selfUs]
    .filter(([name]) => !IDLE_FRAMES.has(name))
    .map(([name, us]) => ({ name, selfMs: us / 1000 }))
    .toSorted((a, b) => b.selfMs - a.selfMs)
}

const ANONYMOUS = '(anonymous)'
const REPOSITORY = new URL('../../../', import.meta.url).href

function formatFunction({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName || ANONYMOUS
  const [, inPackage] = /^.*\/node_modules\/(.*)$/.exec(url) ?? []
  return `${functionName || ANONYMOUS} ${inPackage ?? url.replace(REPOSITORY, '')}:${lineNumber + 1}`
}

/** Renders the functions with the longest self time of each process. @param names the names of the processes by their ids */
export function renderProfiles(folder: string, names: ReadonlyMap<number, string>): string {
  const files = readdirSync(folder).flatMap((file) => {
    const name = names.get(Number(/^CPU\.\d+\.\d+\.(\d+)\./.exec(file)?.[1]))
    return name === undefined ? [] : [{ name, file }]
  })
  return [...Map.groupBy(files, ({ name }) => name)]
    .map(([name, found]) => {
      const profiles = found.map(({ file }) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile) // Node.js wrote it
      return renderFunctions(name, sumSelfTimes(profiles))
    })
    .join('\n\n')
}

export function renderFunctions(processName: string, times: readonly FunctionTime[]): string {
  const total = times.reduce((sum, { selfMs }) => sum + selfMs, 0)
  const lines = times
    .slice(0, SHOWN_FUNCTIONS)
    .map(
      ({ name, selfMs }) => `${selfMs.toFixed(0).padStart(8)} ms ${((selfMs / total) * 100).toFixed(1).padStart(5)} %  ${name}`,
    )
  return [`${processName}: ${(total / 1000).toFixed(1)} s without idle time`, ...lines].join('\n')
}
