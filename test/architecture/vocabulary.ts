import { basename } from 'node:path'
import type { Source } from './source.ts'

/** Names that only Penstock's developers understood, with the terms of the field that replace them. */
const BANNED_NAMES: Readonly<Record<string, string>> = {
  acts: 'effects',
  asked: 'requested',
  attest: 'attestFunds, attestChannel',
  awake: 'uptime',
  basics: 'base-ports',
  beside: 'shadow-tables',
  blows: 'fault-injection',
  books: 'order-model',
  built: 'global-setup',
  calm: 'retry-deadline',
  cells: 'cases',
  course: 'workload',
  cradle: 'process-host',
  cues: 'triggers',
  custody: 'guard-state',
  cuts: 'truncated-requests',
  death: 'crash-injection',
  deeds: 'operator-actions',
  desk: 'context',
  diary: 'trace',
  doom: 'crash-injection',
  door: 'control-socket',
  dripped: 'slow-body',
  duties: 'notifications',
  epochs: 'published-sellers',
  follows: 'log-followers',
  forget: 'remove-transaction',
  freshest: 'chain-failover',
  gate: 'semaphore',
  gun: 'runner',
  holder: 'memory-hog',
  keeper: 'htlc-interceptor',
  kept: 'read-or-create',
  laggard: 'lagging-btcd',
  lags: 'consumer-delays',
  lanes: 'key-queues',
  leaves: 'field-count',
  life: 'process-lifetime',
  linked: 'existing-channels',
  lives: 'consumer-supervisor',
  look: 'snapshot, classify-observation',
  looks: 'checks',
  mends: 'patches',
  mortal: 'crash-injection',
  must: 'assert',
  neighbour: 'side-process',
  news: 'wake-up',
  nobody: 'none',
  noticed: 'call-recorder',
  omitted: 'coordinated-omission',
  outside: 'external-world',
  owed: 'payout-due',
  patient: 'retrying-client',
  payhash: 'payment-hash',
  poison: 'forbid-nondeterminism',
  promised: 'expected-payout',
  reached: 'coverage',
  refuser: 'htlc-interceptor',
  resting: 'idle',
  rounds: 'topic-monitor',
  sabotage: 'broken-market',
  scenes: 'scenarios',
  scratch: 'temporary-folder',
  shot: 'request',
  sight: 'snapshot',
  skipping: 'test-clock',
  slots: 'semaphore, order-quota',
  stages: 'scenarios',
  stories: 'scenarios',
  strokes: 'injections',
  struck: 'coverage',
  sweep: 'recovery',
  tally: 'counts',
  tell: 'command',
  told: 'result',
  trespass: 'authorization',
  troubles: 'active-faults',
  truth: 'network-state',
  unread: 'slow-reader',
  waits: 'waiters',
  wealth: 'balances',
  weather: 'network-events, seller-behaviour',
  wish: 'request',
}

/** A sentence that begins with one of these words has its subject at the end or not at all. */
const BANNED_FIRST_WORD = /^(?:What|Who|Whoever|Where|Nobody|Nothing|Those)\b/

/** The number of exported names that several files may define, because these files implement one contract. */
const MAX_SHARED_NAMES = 60

/** Finds banned names, comments and test titles with a banned first word, and too many shared names. */
export const findVocabularyBreaches = (sources: readonly Source[]): readonly string[] => [
  ...sources.flatMap((source) => [...findBannedNames(source), ...findBannedSentences(source)]),
  ...findSharedNames(sources),
]

function findBannedNames({ path, exportedNames }: Source): readonly string[] {
  const [stem = ''] = basename(path).split('.')
  const names: readonly (readonly [string, string])[] = [
    [stem, `${path} is called ${stem}`],
    ...exportedNames.map((name) => [name, `${path} exports ${name}`] as const),
  ]
  return names.flatMap(([name, text]) => {
    const term = Object.entries(BANNED_NAMES).find(([banned]) => banned === toKebabCase(name))?.[1]
    return term === undefined ? [] : [`${text}, which is not a term of the field: use one, such as ${term}`]
  })
}

const toKebabCase = (name: string): string => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase()

function findBannedSentences({ path, comments, testTitles }: Source): readonly string[] {
  const found = (kind: string, { line, text }: { readonly line: number; readonly text: string }, isWrong: boolean) =>
    isWrong ? [`${path}:${line} has a ${kind} that begins with "${text.split(/\s/, 1)[0]}": begin with its subject`] : []
  return [
    ...comments.flatMap((comment) => found('comment', comment, BANNED_FIRST_WORD.test(comment.text))),
    ...testTitles.flatMap((title) => found('test title', title, BANNED_FIRST_WORD.test(capitalize(title.text)))),
  ]
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function findSharedNames(sources: readonly Source[]): readonly string[] {
  const pathsByName = new Map<string, string[]>()
  for (const { path, exportedNames } of sources)
    for (const name of exportedNames) pathsByName.set(name, [...(pathsByName.get(name) ?? []), path])
  const shared = [...pathsByName].filter(([, paths]) => paths.length > 1)
  if (shared.length <= MAX_SHARED_NAMES) return []
  const examples = shared.slice(0, 10).map(([name, paths]) => `${name} (${paths.join(', ')})`)
  return [
    `${shared.length} exported names are defined by several files, ${MAX_SHARED_NAMES} is the limit; give each its own name: ${examples.join('; ')}`,
  ]
}

const MAX_SUBJECT_LENGTH = 72

/** @param subjects first lines of commit messages */
export const findSubjectBreaches = (subjects: readonly string[]): readonly string[] =>
  subjects.flatMap((subject) => {
    if (/^(?:Merge|Revert) /.test(subject)) return []
    if (subject.length > MAX_SUBJECT_LENGTH)
      return [`"${subject}" has ${subject.length} characters, ${MAX_SUBJECT_LENGTH} is the limit`]
    return /^[a-z0-9-]+: [a-z]/.test(subject) ? [] : [`"${subject}" has no area: write "area: verb object", in lower case`]
  })
