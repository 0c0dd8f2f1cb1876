import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The fields of a .cpuprofile file that this module reads. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  /** The node on top of the stack at each sample. */
  readonly samples: readonly number[]
  /** The monotonic clock at the start, in microseconds. */
  readonly startTime: number
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number }

export type NamedTime = { readonly name: string; readonly ms: number }

/** The times of a process, the longest first, without idle time. Each list has the whole time. */
export type ProcessTimes = { readonly byPackage: readonly NamedTime[]; readonly byFunction: readonly NamedTime[] }

const SAMPLE_INTERVAL_US = 2000
/** Numbers of packages and functions that a list of a process shows. */
export type ShownLines = { readonly packages: number; readonly functions: number }
const SHOWN: ShownLines = { packages: 8, functions: 16 }
const SHOWN_ON_PAGE: ShownLines = { packages: 4, functions: 8 }
/** Frames in which the process uses no CPU. */
const IDLE_FRAMES = new Set(['(idle)', '(root)'])

/** Environment variables by which Node.js writes a profile of each process into the folder when the process ends. */
export const profileEnv = (folder: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${SAMPLE_INTERVAL_US}`,
})

/** A part of a profile, in microseconds of the monotonic clock. */
export type ProfileWindow = { readonly sinceUs: number; readonly untilUs: number }

const WHOLE: ProfileWindow = { sinceUs: 0, untilUs: Number.POSITIVE_INFINITY }

/**
 * Sums the times of the samples in a window, over several profiles. The time of a function counts for
 * its package, and for the nearest function of this repository on its stack. On a busy machine it includes waits for a core, so
 * only the shares are comparable.
 */
export function sumTimes(profiles: readonly CpuProfile[], { sinceUs, untilUs } = WHOLE): ProcessTimes {
  const byPackage = new Map<string, number>()
  const byFunction = new Map<string, number>()
  const add = (sums: Map<string, number>, name: string, us: number): unknown => sums.set(name, (sums.get(name) ?? 0) + us)
  for (const profile of profiles) {
    const places = findPlaces(profile)
    let timeUs = profile.startTime
    for (const [index, id] of profile.samples.entries()) {
      timeUs += profile.timeDeltas[index] ?? 0
      const place = places.get(id)
      if (!place || timeUs < sinceUs || timeUs > untilUs) continue
      // A sample shows the function that runs until the next sample.
      const us = profile.timeDeltas[index + 1] ?? 0
      add(byPackage, place.packageName, us)
      add(byFunction, place.functionName, us)
    }
  }
  return { byPackage: toSorted(byPackage), byFunction: toSorted(byFunction) }
}

const toSorted = (sums: ReadonlyMap<string, number>): readonly NamedTime[] =>
  [...sums].map(([name, us]) => ({ name, ms: us / 1000 })).toSorted((a, b) => b.ms - a.ms)

type Place = { readonly packageName: string; readonly functionName: string }

/** Names the package and the function of each node that uses CPU. */
function findPlaces({ nodes }: CpuProfile): ReadonlyMap<number, Place> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const listStack = (id: number): readonly CallFrame[] => {
    const stack: CallFrame[] = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at)
      if (frame) stack.push(frame)
    }
    return stack
  }
  const used = nodes.filter(({ callFrame }) => !IDLE_FRAMES.has(callFrame.functionName))
  return new Map(used.map(({ id }) => [id, placeOf(listStack(id))]))
}

const REPOSITORY = new URL('../../../', import.meta.url).href
const OWN = 'Penstock'
const ANONYMOUS = '(anonymous)'

/** Code of Node.js counts for the package that calls it. */
function placeOf(stack: readonly CallFrame[]): Place {
  const packageName = stack.map(findPackage).find((name) => name !== undefined)
  const own = stack.find((frame) => findPackage(frame) === OWN)
  const [top] = stack
  const native = top && top.url === '' && top.functionName.startsWith('(') ? top.functionName : undefined
  return {
    packageName: native ?? packageName ?? 'Node.js',
    functionName: own ? formatFunction(own) : (native ?? packageName ?? 'Node.js'),
  }
}

function findPackage({ url }: CallFrame): string | undefined {
  const [, name] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  return name ?? (url.startsWith(REPOSITORY) ? OWN : undefined)
}

const formatFunction = ({ functionName, url, lineNumber }: CallFrame): string =>
  `${functionName || ANONYMOUS} ${url.replace(REPOSITORY, '')}:${lineNumber + 1}`

export const PROFILE_HEADING = '## CPU of an order by function'

/** Renders the section of the page with the profile of sales. */
export const renderProfileSection = (profiles: string): string =>
  [
    PROFILE_HEADING,
    'A profile of every process while the cluster sells channels, from `npm run bench:cluster -- --profile --write`. On a busy machine a time includes waits for a core, so only the shares are comparable. Kafka and PostgreSQL have no profile.',
    `\`\`\`text\n${profiles}\n\`\`\``,
  ].join('\n\n')

/** A folder of profiles. @param names the names of the processes by their ids */
type ProfileFolder = { readonly folder: string; readonly names: ReadonlyMap<number, string> }

/** Renders what uses the time of each process, for a terminal or, with fewer lines, for the page. */
export function renderProfiles({ folder, names }: ProfileFolder, window: ProfileWindow, isForPage = false): string {
  const files = readdirSync(folder).flatMap((file) => {
    const name = names.get(Number(/^CPU\.\d+\.\d+\.(\d+)\./.exec(file)?.[1]))
    return name === undefined ? [] : [{ name, file }]
  })
  return [...Map.groupBy(files, ({ name }) => name)]
    .map(([name, found]) => {
      const profiles = found.map(({ file }) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile) // Node.js wrote it
      return renderTimes(name, sumTimes(profiles, window), isForPage ? SHOWN_ON_PAGE : SHOWN)
    })
    .join('\n\n')
}

export function renderTimes(processName: string, { byPackage, byFunction }: ProcessTimes, shown: ShownLines = SHOWN): string {
  const total = byPackage.reduce((sum, { ms }) => sum + ms, 0)
  const render = ({ name, ms }: NamedTime): string =>
    `${ms.toFixed(0).padStart(8)} ms ${((ms / total) * 100).toFixed(1).padStart(5)} %  ${name}`
  return [
    `${processName}: ${(total / 1000).toFixed(1)} s without idle time`,
    '  by package:',
    ...byPackage.slice(0, shown.packages).map(render),
    '  by function of Penstock, with the packages that it calls:',
    ...byFunction.slice(0, shown.functions).map(render),
  ].join('\n')
}
