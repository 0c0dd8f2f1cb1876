import { importedOwner, isTest, ownerOf, resolveRelative } from './places.ts'
import type { Source } from './source.ts'

/** These services have no aggregates of their own: all of their files may touch the outside. */
const withoutDomain = ['gateway', 'seller-agent', 'standalone', 'cluster']
/** A service's files, or folders, that talk to the outside begin with one of these words. Every other file decides. */
const outward = /\/(service|main|effects[^/]*|views[^/]*|routes[^/]*|enrich[^/]*)(\.ts$|\/)/

export const isDomain = (path: string): boolean =>
  path.startsWith('services/') && !isTest(path) && !withoutDomain.includes(ownerOf(path)) && !outward.test(path)

/** What decides must be replayable: no I/O, no clock, no client library, in kernel, bitcoin and every domain file. */
export const purityBreaches = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap((source) =>
    source.imports.flatMap(({ specifier, line, typeOnly }) => {
      const mend = isTest(source.path) ? undefined : purityMend(source.path, specifier, typeOnly)
      return mend === undefined ? [] : [`${source.path}:${line} imports ${specifier}: ${mend}`]
    }),
  )

function purityMend(path: string, specifier: string, typeOnly: boolean): string | undefined {
  if (specifier === 'xstate')
    return mayImportXState(path) ? undefined : 'machines live in *.machine.ts; use the compiled lifecycle'
  const owner = ownerOf(path)
  if (owner === 'kernel' && !specifier.startsWith('.')) return 'kernel imports nothing, neither npm packages nor node:*'
  if (owner === 'bitcoin' && specifier.startsWith('node:'))
    return 'bitcoin is pure: use @noble, and take time and randomness as arguments'
  return isDomain(path) ? domainMend(path, specifier, typeOnly) : undefined
}

function domainMend(path: string, specifier: string, typeOnly: boolean): string | undefined {
  const imported = importedOwner(path, specifier)
  if (imported === undefined) return 'a domain file imports no npm package and no node:*; take the value as data on the command'
  if (specifier.startsWith('.'))
    return isDomain(resolveRelative(path, specifier))
      ? undefined
      : 'a domain file imports domain files only; move the shared part'
  if (imported === 'contracts') return typeOnly ? undefined : 'a domain file takes types only from contracts: write import type'
  if (
    imported === 'kernel' ||
    imported === 'bitcoin' ||
    imported === 'market' ||
    specifier === '@penstock/runtime/lifecycle.ts' ||
    specifier === '@penstock/runtime/enriched.ts'
  )
    return undefined
  return 'a domain file imports kernel, bitcoin, market, runtime/lifecycle.ts, runtime/enriched.ts and types of contracts; put I/O into effects*.ts or service.ts'
}

const mayImportXState = (path: string): boolean => path.endsWith('.machine.ts') || path === 'packages/runtime/src/lifecycle.ts'
