import { readFileSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { gateway } from '@penstock/gateway/service.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'

const root = join(import.meta.dirname, '../..')
const sourcesOf = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => /\.(test|contract)\.ts$/.test(path) }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  )

/** Names of points as the sources write them: `${service}.after-append`, `${service}.${effect}.before-outcome`, or in full. */
type Named = { readonly ofServices: readonly string[]; readonly ofEffects: readonly string[]; readonly inFull: readonly string[] }

/** @throws where a point's name cannot be read, so that none is left out in silence */
function namedPoints(): Named {
  const names = ['packages/runtime/src/*.ts', 'services/*/src/**/*.ts']
    .flatMap(sourcesOf)
    .flatMap((text) => [...text.matchAll(/(?<!function )crashPoint\(([^)]*)\)/g)])
    .map(([, name = '']) => name.replaceAll(/\$\{[^}]*\}/g, '*').replaceAll(/[`']/g, ''))
  const found: { [Kind in keyof Named]: string[] } = { ofServices: [], ofEffects: [], inFull: [] }
  for (const name of new Set(names)) {
    if (/^\*\.[a-z-]+$/.test(name)) found.ofServices.push(name.slice(2))
    else if (/^\*\.\*\.[a-z-]+$/.test(name)) found.ofEffects.push(name.slice(4))
    else if (/^[a-z-]+(\.[a-zA-Z-]+)+$/.test(name)) found.inFull.push(name)
    else throw new Error(`a crash point is called ${name}, and nobody can tell which visits that means`)
  }
  return found
}

/** Which services can come to a point of the runtime. A new point needs its line here. */
const visitors: Readonly<Record<string, (service: Service<never>) => boolean>> = {
  'before-append': hasStreams,
  'after-append': hasStreams,
  'after-publish': hasStreams,
  'after-relay-progress': hasStreams,
  'before-send': asksOthers,
  'after-send': asksOthers,
  'after-reaction': ({ reactions }) => reactions.length > 0,
  'after-projection': ({ projections }) => projections.length > 0,
}

function hasStreams({ aggregates }: Service<never>): boolean {
  return aggregates.length > 0
}

/** What a process asks follows from states alone, so whether it asks anybody is read from its source. */
function asksOthers(service: Service<never>): boolean {
  return sourcesOf(`services/${service.name}/src/**/*.ts`).some(importsTell)
}

/** However many lines the import has. */
export const importsTell = (text: string): boolean =>
  /\bimport\s*\{[^}]*\btell\b[^}]*\}\s*from\s*'@penstock\/kernel\/process\.ts'/.test(text)

const services = (): readonly Service<never>[] => [...audited(), gateway({ pepper: new Uint8Array(32) })]

/** Every place at which a service can be cut in two, by its full name. */
export function allPoints(): readonly string[] {
  const { ofServices, ofEffects, inFull } = namedPoints()
  const generic = services().flatMap((service) =>
    ofServices.flatMap((point) => {
      const visits = visitors[point]
      if (!visits) throw new Error(`who comes to the crash point ${point}? Say so in test/crash/points.ts`)
      return visits(service) ? [`${service.name}.${point}`] : []
    }),
  )
  const effects = services().flatMap((service) =>
    service.aggregates
      .flatMap((aggregate) => Object.keys(aggregate.effects ?? {}))
      .flatMap((effect) => ofEffects.map((point) => `${service.name}.${effect}.${point}`)),
  )
  return [...new Set([...generic, ...effects, ...inFull])]
}
