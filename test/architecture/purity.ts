import { getImportedOwner, isTest, getOwner, resolveRelative } from './paths.ts'
import type { Source } from './source.ts'

/** These services have no aggregates, so that all of their files may do I/O. */
const SERVICES_WITHOUT_DOMAIN = ['gateway', 'seller-agent', 'standalone', 'cluster']
/** This file judges a channel by evidence and is pure. The other files of its package gather the evidence by I/O. */
const JUDGE_FILE = 'packages/channel-proof/src/judge.ts'
/** Files and folders of a service that do I/O begin with one of these words. Every other file is a domain file. */
const OUTWARD_FILES =
  /\/(service|manifest|main|effects[^/]*|reactions[^/]*|views[^/]*|routes[^/]*|enrich[^/]*|webhooks)(\.ts$|\/)/

export const isDomain = (path: string): boolean =>
  path.startsWith('services/') && !isTest(path) && !SERVICES_WITHOUT_DOMAIN.includes(getOwner(path)) && !OUTWARD_FILES.test(path)

/** Kernel, bitcoin and every domain file use no I/O, no clock and no client library, because an audit replays decisions. */
export const findPurityBreaches = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap((source) =>
    source.imports.flatMap(({ specifier, line, isTypeOnly }) => {
      const fix = isTest(source.path) ? undefined : suggestPurityFix(source.path, specifier, isTypeOnly)
      return fix === undefined ? [] : [`${source.path}:${line} imports ${specifier}: ${fix}`]
    }),
  )

function suggestPurityFix(path: string, specifier: string, isTypeOnly: boolean): string | undefined {
  if (specifier === 'xstate')
    return mayImportXState(path) ? undefined : 'machines live in *.machine.ts; use the compiled lifecycle'
  const owner = getOwner(path)
  if (owner === 'kernel' && !specifier.startsWith('.')) return 'kernel imports nothing, neither npm packages nor node:*'
  if (owner === 'bitcoin' && specifier.startsWith('node:'))
    return 'bitcoin is pure: use @noble, and take time and randomness as arguments'
  if (path === JUDGE_FILE && getImportedOwner(path, specifier) !== 'bitcoin' && !isTypeOnly)
    return 'the judgement of a channel is pure: it imports bitcoin alone'
  return isDomain(path) ? suggestDomainFix(path, specifier, isTypeOnly) : undefined
}

function suggestDomainFix(path: string, specifier: string, isTypeOnly: boolean): string | undefined {
  const imported = getImportedOwner(path, specifier)
  if (imported === undefined) return 'a domain file imports no npm package and no node:*; take the value as data on the command'
  if (specifier.startsWith('.'))
    return isDomain(resolveRelative(path, specifier))
      ? undefined
      : 'a domain file imports domain files only; move the shared part'
  if (imported === 'contracts')
    return isTypeOnly || isPlainData(specifier)
      ? undefined
      : 'a domain file takes types from contracts, and values from */lifecycle.ts and */heights.ts only: write import type'
  if (
    imported === 'kernel' ||
    imported === 'bitcoin' ||
    imported === 'market' ||
    ['@penstock/channel-proof/judge.ts', '@penstock/channel-proof/parse-evidence.ts'].includes(specifier) ||
    specifier === '@penstock/runtime/lifecycle/lifecycle.ts' ||
    specifier === '@penstock/runtime/commands/enriched-command.ts'
  )
    return undefined
  return 'a domain file imports kernel, bitcoin, market, channel-proof/{judge,parse-evidence}.ts, runtime/lifecycle/lifecycle.ts, runtime/commands/enriched-command.ts, types of contracts, and its lifecycles and heights; put I/O into effects*.ts or service.ts'
}

/** Lifecycles and heights are tables and pure functions, which domain files of several services use. */
const isPlainData = (specifier: string): boolean => /^@penstock\/contracts\/\w+\/(lifecycle|heights)\.ts$/.test(specifier)

const mayImportXState = (path: string): boolean =>
  path.endsWith('.machine.ts') || path === 'packages/runtime/src/lifecycle/lifecycle.ts'
