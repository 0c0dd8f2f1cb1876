import { readFileSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { createGatewayService } from '@penstock/gateway/service.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'

const REPOSITORY_ROOT = join(import.meta.dirname, '../..')
const readSources = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: REPOSITORY_ROOT, exclude: (path) => /\.(test|contract|fixture|child)\.ts$/.test(path) }).map((path) =>
    readFileSync(join(REPOSITORY_ROOT, path), 'utf8'),
  )

/** The three forms of names in the sources: `${service}.after-append`, `${service}.${effect}.before-outcome`, and full names. */
type CrashPointNames = {
  readonly servicePoints: readonly string[]
  readonly effectPoints: readonly string[]
  readonly fullNames: readonly string[]
}

/** Reads the names from the calls of `hitCrashPoint`. @throws Error if a name has none of the three forms */
function readCrashPointNames(): CrashPointNames {
  const names = ['packages/runtime/src/**/*.ts', 'services/*/src/**/*.ts']
    .flatMap(readSources)
    .flatMap((text) => [...text.matchAll(/(?<!function )hitCrashPoint\(([^)]*)\)/g)])
    .map(([, name = '']) => name.replaceAll(/\$\{[^}]*\}/g, '*').replaceAll(/[`']/g, ''))
  const pointNames: { [Kind in keyof CrashPointNames]: string[] } = { servicePoints: [], effectPoints: [], fullNames: [] }
  for (const name of new Set(names)) {
    if (/^\*\.[a-z-]+$/.test(name)) pointNames.servicePoints.push(name.slice(2))
    else if (/^\*\.\*\.[a-z-]+$/.test(name)) pointNames.effectPoints.push(name.slice(4))
    else if (/^[a-z-]+(\.[a-zA-Z-]+)+$/.test(name)) pointNames.fullNames.push(name)
    else throw new Error(`cannot parse the name of the crash point ${name}`)
  }
  return pointNames
}

/** Whether a service reaches a crash point of the runtime. A new crash point of the runtime needs an entry here. */
const servicesAtPoint: Readonly<Record<string, (service: Service<never>) => boolean>> = {
  'before-append': hasAggregates,
  'after-append': hasAggregates,
  'after-publish': hasAggregates,
  'after-relay-progress': hasAggregates,
  'before-send': sendsCommands,
  'after-send': sendsCommands,
  'after-reaction': ({ reactions }) => reactions.length > 0,
  'after-projection': ({ projections }) => projections.length > 0,
}

function hasAggregates({ aggregates }: Service<never>): boolean {
  return aggregates.length > 0
}

/** Only the source of a service shows whether it sends commands, because a process derives them from states at run time. */
function sendsCommands(service: Service<never>): boolean {
  return readSources(`services/${service.name}/src/**/*.ts`).some(importsCommand)
}

/** Returns whether a source imports `commandStep` from the kernel, on one line or on several. */
export const importsCommand = (text: string): boolean =>
  /\bimport\s*\{[^}]*\bcommandStep\b[^}]*\}\s*from\s*'@penstock\/kernel\/process\.ts'/.test(text)

const listServices = (): readonly Service<never>[] => [
  ...createStreamServices(),
  createGatewayService({ pepper: new Uint8Array(32) }),
]

/** Lists the full names of all crash points. */
export function listCrashPoints(): readonly string[] {
  const { servicePoints, effectPoints, fullNames } = readCrashPointNames()
  const generic = listServices().flatMap((service) =>
    servicePoints.flatMap((point) => {
      const isVisited = servicesAtPoint[point]
      if (!isVisited) throw new Error(`servicesAtPoint in test/crash/crash-points.ts has no crash point ${point}`)
      return isVisited(service) ? [`${service.name}.${point}`] : []
    }),
  )
  const effects = listServices().flatMap((service) =>
    service.aggregates
      .flatMap((aggregate) => Object.keys(aggregate.effects ?? {}))
      .flatMap((effect) => effectPoints.map((point) => `${service.name}.${effect}.${point}`)),
  )
  return [...new Set([...generic, ...effects, ...fullNames])]
}
