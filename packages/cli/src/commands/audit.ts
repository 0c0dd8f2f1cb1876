import { writeFileSync } from 'node:fs'
import type * as LocalAudit from '@penstock/standalone/audit.ts'
import type { Command } from 'commander'
import {
  formatCheckReport,
  formatDiff,
  describeExportFault,
  describeHeadsFault,
  formatReplay,
  formatVerifyReport,
} from '../audit-text.ts'
import { Failure } from '../failure.ts'
import { isList, type Json, getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, encodePathSegment, type CommandContext } from '../command-context.ts'

type StoreOptions = { readonly json?: boolean; readonly store?: string }
type VerifyOptions = { readonly heads?: string; readonly key?: string; readonly note?: string; readonly unsigned?: boolean }

const STORE_OPTION = [
  '--store <path>',
  'read a data folder, a market.db or the event store at a URL directly, without a running service',
] as const
const HEADS_OPTION = ['--heads <folder>', "the folder of audit.heads, if the store's folder has none (with --store)"] as const
const KEY_OPTION = ['--key <file>', "the file of the audit key, if the store's folder has none (with --store)"] as const
const ORDER_OPTION = ['--order <id>', "the order's id, which is its transaction_id"] as const
const UNSIGNED_HELP = 'do not fail if the log heads and their key do not prove that no facts were removed'
const NO_HEADS_NOTICE = '\nIt was compared with no log heads, so facts may have been missing from the store.'
const SAMPLE_ORDER_ID = '019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55'

const toHeadsOptions = ({ heads, key }: VerifyOptions) => ({
  ...(heads !== undefined && { headsDir: heads }),
  ...(key !== undefined && { keyFile: key }),
})

/** @throws Failure if --key or --heads is given without --store */
function toStoreHeadsOptions(options: StoreOptions & VerifyOptions) {
  if ((options.key ?? options.heads) !== undefined && options.store === undefined)
    throw new Failure('--key and --heads need --store: a running service has its own.')
  return toHeadsOptions(options)
}

export function addAuditCommands(program: Command, context: CommandContext): void {
  const audit = program.command('audit').description('verify, replay, compare and export the stored facts')
  addVerifyCommand(audit, context)
  addReplayCommand(audit, context)
  addDiffCommand(audit, context)
  addExportCommand(audit, context)
  addCheckCommand(audit, context)
}

function addVerifyCommand(audit: Command, context: CommandContext): void {
  const description = 'replay every stream, check state hashes, chain hashes and log heads, and check that the ledger balances'
  addCommand(audit, 'verify', description, 'audit verify --store .penstock\n  $ penstock audit verify --note 20417:5b1e… --json')
    .option(...STORE_OPTION)
    .option(...HEADS_OPTION)
    .option(...KEY_OPTION)
    .option('--note <position:hash>', 'fail unless the log up to this position matches the note of an earlier audit')
    .option('--unsigned', UNSIGNED_HELP)
    .action(async (options: StoreOptions & VerifyOptions) => {
      const { store, note } = options
      const auditOptions = { ...(note !== undefined && { note }), ...toStoreHeadsOptions(options) }
      const report =
        store === undefined
          ? await context.callOperator('POST', '/audit/verify', auditOptions)
          : await withLocalAudit(store, async (localAudit) => toJson(await localAudit.verifyStore(store, auditOptions)))
      const source = store === undefined ? 'service' : 'store'
      printResult(context, options, report, (answer) => formatVerifyReport(answer, { source, ...options }))
      const first = getMember(report, 'first')
      if (getMember(report, 'divergences') !== 0 || first !== null) throw toDivergenceFailure(first)
      if (getMember(report, 'ledger_balanced') !== true) throw new Failure('The ledger does not balance.')
      const unproven = options.unsigned === true ? undefined : describeHeadsFault(getMember(report, 'log'), source)
      if (unproven !== undefined) throw new Failure(unproven)
    })
}

function addReplayCommand(audit: Command, context: CommandContext): void {
  addCommand(
    audit,
    'replay',
    "print the state after each fact of an order's streams, in the order of the log",
    `audit replay --order ${SAMPLE_ORDER_ID}`,
  )
    .requiredOption(...ORDER_OPTION)
    .option(...STORE_OPTION)
    .option('--full', 'print whole states, not only what each fact changed')
    .action(async (options: StoreOptions & { order: string; full?: boolean }) => {
      const { order, store } = options
      const found =
        store === undefined
          ? await context.callOperator('GET', `/audit/replay/${encodePathSegment(order)}`)
          : await withLocalAudit(store, async (localAudit) =>
              requireOrder(order, store, await localAudit.replayStored(store, order)),
            )
      printResult(context, options, found, (answer) => formatReplay(answer, options.full === true))
      throwFirstDivergence(getMember(found, 'divergences'))
    })
}

function addDiffCommand(audit: Command, context: CommandContext): void {
  addCommand(
    audit,
    'diff',
    'replay every stream with this version and another, and print where their states first differ',
    'audit diff --against ../penstock-next --store .penstock',
  )
    .requiredOption('--against <path>', 'a checkout of the other version, with installed dependencies')
    .option('--store <path>', 'a data folder, a market.db or the URL of an event store', context.dataDir)
    .action(async (options: { json?: boolean; against: string; store: string }) => {
      const { diffStore } = await import('@penstock/standalone/audit-diff.ts')
      const report = toJson(
        await wrapFailure(`${options.store} cannot be compared`, () => diffStore(options.store, options.against)),
      )
      printResult(context, options, report, formatDiff)
      throwFirstDivergence(getMember(report, 'differences'), 'differs between the two versions')
      throwFirstDivergence(getMember(report, 'failing'), 'can be folded by neither version')
    })
}

function addExportCommand(audit: Command, context: CommandContext): void {
  addCommand(
    audit,
    'export',
    'write all facts of one order into a file that "audit check" can verify',
    `audit export --order ${SAMPLE_ORDER_ID} --out order.json`,
  )
    .requiredOption(...ORDER_OPTION)
    .requiredOption('--out <file>', 'the file to write; it contains data about the buyer and the sellers')
    .option(...STORE_OPTION)
    .option(...HEADS_OPTION)
    .option(...KEY_OPTION)
    .action(async (options: StoreOptions & VerifyOptions & { order: string; out: string }) => {
      const { order, store, out } = options
      const auditOptions = toStoreHeadsOptions(options)
      const found =
        store === undefined
          ? await context.callOperator('GET', `/audit/export/${encodePathSegment(order)}`)
          : await withLocalAudit(store, async (localAudit) =>
              requireOrder(order, store, await localAudit.exportStored(store, order, auditOptions)),
            )
      await wrapFailure(`${out} cannot be written`, () =>
        writeFileSync(out, `${JSON.stringify(found, null, 1)}\n`, { mode: 0o600 }),
      )
      const streams = filterObjects(getMember(found, 'streams'))
      const written = {
        order,
        file: out,
        streams: streams.length,
        events: streams.reduce((sum, stream) => sum + countItems(getMember(stream, 'events')), 0),
        digest: getMember(found, 'digest'),
        head: getMember(found, 'head'),
      }
      const notice = written.head === null ? NO_HEADS_NOTICE : ''
      printResult(
        context,
        options,
        written,
        () =>
          `${out}: ${written.events} facts of ${written.streams} streams. Check it with: penstock audit check ${out}${notice}`,
      )
    })
}

function addCheckCommand(audit: Command, context: CommandContext): void {
  addCommand(audit, 'check', 'check an exported order, without a store or a service', 'audit check order.json')
    .argument('<file>', 'a file that audit export wrote')
    .option('--heads <folder>', 'compare the file with audit.heads in this folder, to prove that it is from that market')
    .option('--key <file>', 'the file of the audit key, if it is not in the folder of the heads')
    .option('--unsigned', UNSIGNED_HELP)
    .option('--earlier', 'accept a file that is older than the newest log head, and so lacks later facts')
    .action(async (file: string, options: { json?: boolean; earlier?: boolean } & VerifyOptions) => {
      const { heads, key } = options
      if (key !== undefined && heads === undefined) throw new Failure('--key needs --heads, whose signatures it checks.')
      const auditOptions = toHeadsOptions(options)
      const report = await withLocalAudit(file, async ({ checkFile }) => toJson(await checkFile(file, auditOptions)))
      printResult(context, options, report, formatCheckReport)
      throwFirstDivergence(getMember(report, 'divergences'))
      if (getMember(report, 'ledger_balanced') !== true) throw new Failure('The ledger of this order does not balance.')
      const unproven = heads === undefined ? undefined : describeExportFault(report, options)
      if (unproven !== undefined) throw new Failure(unproven)
    })
}

/** Runs an audit in this process. The audit's code is loaded only here, so that other commands start fast. */
async function withLocalAudit(path: string, run: (localAudit: typeof LocalAudit) => Promise<Json>): Promise<Json> {
  const localAudit = await import('@penstock/standalone/audit.ts')
  return wrapFailure(`${path} cannot be verified`, () => run(localAudit))
}

async function wrapFailure<T>(summary: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`${summary}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

// The result of an audit has only values that JSON can represent.
const toJson = (value: object): Json => JSON.parse(JSON.stringify(value)) as Json

function requireOrder(order: string, store: string, found: object | undefined): Json {
  if (found === undefined) throw new Failure(`${store} has no order ${order}.`)
  return toJson(found)
}

function throwFirstDivergence(divergences: Json, verb?: string): void {
  const [first] = filterObjects(divergences)
  if (first) throw toDivergenceFailure(first, verb)
}

const toDivergenceFailure = (first: Json, verb = 'diverges'): Failure =>
  new Failure(
    getMember(first, 'stream') === 'log'
      ? `The log ${verb}: ${readText(first, 'what')}`
      : `${readText(first, 'stream')} ${verb} at revision ${readText(first, 'revision')}: ${readText(first, 'what')}`,
  )

const readText = (value: Json, name: string): string => {
  const found = getMember(value, name)
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : '?'
}

const countItems = (list: Json): number => (isList(list) ? list.length : 0)
