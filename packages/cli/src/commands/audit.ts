import { writeFileSync } from 'node:fs'
import type * as Local from '@penstock/standalone/audit.ts'
import type { Command } from 'commander'
import { checkText, diffText, exportFault, headsFault, replayText, verifyText } from '../audit-text.ts'
import { Failure } from '../failure.ts'
import { isList, type Json, member, objectsOf } from '../json.ts'
import { leaf, print, segment, type Shell } from '../shell.ts'

type Options = { readonly json?: boolean; readonly store?: string }
type VerifyOptions = { readonly heads?: string; readonly key?: string; readonly note?: string; readonly unsigned?: boolean }

const STORE = [
  '--store <path>',
  'read a data folder, a market.db, or the event store at a url itself, without a running service',
] as const
const HEADS = ['--heads <folder>', 'where audit.heads is, for a store that has none beside it (with --store)'] as const
const KEY = ['--key <file>', 'the audit key, where it is kept apart from the store (with --store)'] as const
const ORDER = ['--order <id>', "the order's id, which is its transaction_id"] as const
const UNSIGNED_HELP = 'be content where log heads with their key do not prove that nothing was cut off'
const HEADLESS = '\nIt was compared with no log heads: nothing tells whether the store still had all of its facts.'
const SAMPLE = '019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55'

const headsGiven = ({ heads, key }: VerifyOptions) => ({
  ...(heads !== undefined && { headsDir: heads }),
  ...(key !== undefined && { keyFile: key }),
})

/** @throws Failure where they are named for a running service */
function headsBeside(options: Options & VerifyOptions) {
  if ((options.key ?? options.heads) !== undefined && options.store === undefined)
    throw new Failure('--key and --heads go with --store: a running service has its own.')
  return headsGiven(options)
}

export function auditCommands(program: Command, shell: Shell): void {
  const audit = program.command('audit').description('proof that the stored facts are whole, and what they say')
  verify(audit, shell)
  replay(audit, shell)
  diff(audit, shell)
  exportOrder(audit, shell)
  check(audit, shell)
}

function verify(audit: Command, shell: Shell): void {
  const about = 'fold every stream again, compare state and chain hashes and the log heads, and balance the ledger'
  leaf(audit, 'verify', about, 'audit verify --store .penstock\n  $ penstock audit verify --note 20417:5b1e… --json')
    .option(...STORE)
    .option(...HEADS)
    .option(...KEY)
    .option('--note <position:hash>', 'what an earlier audit printed as its note: the log up to there must be the same')
    .option('--unsigned', UNSIGNED_HELP)
    .action(async (options: Options & VerifyOptions) => {
      const { store, note } = options
      const given = { ...(note !== undefined && { note }), ...headsBeside(options) }
      const report =
        store === undefined
          ? await shell.ask('POST', '/audit/verify', given)
          : await local(store, async (on) => plain(await on.verifyStore(store, given)))
      const of = store === undefined ? 'service' : 'store'
      print(shell, options, report, (answer) => verifyText(answer, { of, ...options }))
      const first = member(report, 'first')
      if (member(report, 'divergences') !== 0 || first !== null) throw diverges(first)
      if (member(report, 'ledger_balanced') !== true) throw new Failure('The ledger does not balance.')
      const unproven = options.unsigned === true ? undefined : headsFault(member(report, 'log'), of)
      if (unproven !== undefined) throw new Failure(unproven)
    })
}

function replay(audit: Command, shell: Shell): void {
  leaf(
    audit,
    'replay',
    "the state after each fact of an order's streams, in the order of the log",
    `audit replay --order ${SAMPLE}`,
  )
    .requiredOption(...ORDER)
    .option(...STORE)
    .option('--full', 'print whole states, not only what each fact changed')
    .action(async (options: Options & { order: string; full?: boolean }) => {
      const { order, store } = options
      const found =
        store === undefined
          ? await shell.ask('GET', `/audit/replay/${segment(order)}`)
          : await local(store, async (on) => ofOrder(order, store, await on.replayStored(store, order)))
      print(shell, options, found, (answer) => replayText(answer, options.full === true))
      throwFirst(member(found, 'divergences'))
    })
}

function diff(audit: Command, shell: Shell): void {
  leaf(
    audit,
    'diff',
    'fold every stream with this version and with another, and print where their states first differ',
    'audit diff --against ../penstock-next --store .penstock',
  )
    .requiredOption('--against <path>', 'a checkout of the other version, installed')
    .option('--store <path>', 'a data folder, a market.db, or the url of an event store', shell.dataDir)
    .action(async (options: { json?: boolean; against: string; store: string }) => {
      const { diffStore } = await import('@penstock/standalone/audit-diff.ts')
      const report = plain(
        await orFailure(`${options.store} cannot be compared`, () => diffStore(options.store, options.against)),
      )
      print(shell, options, report, diffText)
      throwFirst(member(report, 'differences'), 'differs between the two versions')
      throwFirst(member(report, 'failing'), 'can be folded by neither version')
    })
}

function exportOrder(audit: Command, shell: Shell): void {
  leaf(
    audit,
    'export',
    'write everything that is recorded of one order into a file that proves itself',
    `audit export --order ${SAMPLE} --out order.json`,
  )
    .requiredOption(...ORDER)
    .requiredOption('--out <file>', 'the file to write; it holds what the order says of its buyer and sellers')
    .option(...STORE)
    .option(...HEADS)
    .option(...KEY)
    .action(async (options: Options & VerifyOptions & { order: string; out: string }) => {
      const { order, store, out } = options
      const given = headsBeside(options)
      const found =
        store === undefined
          ? await shell.ask('GET', `/audit/export/${segment(order)}`)
          : await local(store, async (on) => ofOrder(order, store, await on.exportStored(store, order, given)))
      await orFailure(`${out} cannot be written`, () =>
        writeFileSync(out, `${JSON.stringify(found, null, 1)}\n`, { mode: 0o600 }),
      )
      const streams = objectsOf(member(found, 'streams'))
      const written = {
        order,
        file: out,
        streams: streams.length,
        events: streams.reduce((sum, stream) => sum + lengthOf(member(stream, 'events')), 0),
        digest: member(found, 'digest'),
        head: member(found, 'head'),
      }
      const headless = written.head === null ? HEADLESS : ''
      print(
        shell,
        options,
        written,
        () =>
          `${out}: ${written.events} facts of ${written.streams} streams. Check it with: penstock audit check ${out}${headless}`,
      )
    })
}

function check(audit: Command, shell: Shell): void {
  leaf(audit, 'check', 'check an exported order, without a store and without a service', 'audit check order.json')
    .argument('<file>', 'what audit export wrote')
    .option('--heads <folder>', 'compare it with audit.heads in this folder, which shows that the file is of that market')
    .option('--key <file>', 'the audit key, where it is kept apart from the heads')
    .option('--unsigned', UNSIGNED_HELP)
    .option('--earlier', 'be content with a file that is older than the heads, and with the order as it was then')
    .action(async (file: string, options: { json?: boolean; earlier?: boolean } & VerifyOptions) => {
      const { heads, key } = options
      if (key !== undefined && heads === undefined) throw new Failure('--key goes with --heads: it is the heads that are signed.')
      const given = headsGiven(options)
      const report = await local(file, async ({ checkFile }) => plain(await checkFile(file, given)))
      print(shell, options, report, checkText)
      throwFirst(member(report, 'divergences'))
      if (member(report, 'ledger_balanced') !== true) throw new Failure('The ledger of this order does not balance.')
      const unproven = heads === undefined ? undefined : exportFault(report, options)
      if (unproven !== undefined) throw new Failure(unproven)
    })
}

/** Works on files of this machine. The store is loaded only here: every other command starts without it. */
async function local(path: string, work: (on: typeof Local) => Promise<Json>): Promise<Json> {
  const on = await import('@penstock/standalone/audit.ts')
  return orFailure(`${path} cannot be verified`, () => work(on))
}

async function orFailure<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`${what}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

// What an audit returns is made of what JSON has.
const plain = (value: object): Json => JSON.parse(JSON.stringify(value)) as Json

function ofOrder(order: string, store: string, found: object | undefined): Json {
  if (found === undefined) throw new Failure(`${store} has no order ${order}.`)
  return plain(found)
}

function throwFirst(divergences: Json, verb?: string): void {
  const [first] = objectsOf(divergences)
  if (first) throw diverges(first, verb)
}

const diverges = (first: Json, verb = 'diverges'): Failure =>
  new Failure(
    member(first, 'stream') === 'log'
      ? `The log ${verb}: ${text(first, 'what')}`
      : `${text(first, 'stream')} ${verb} at revision ${text(first, 'revision')}: ${text(first, 'what')}`,
  )

const text = (value: Json, name: string): string => {
  const found = member(value, name)
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : '?'
}

const lengthOf = (list: Json): number => (isList(list) ? list.length : 0)
