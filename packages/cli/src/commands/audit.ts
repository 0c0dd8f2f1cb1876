import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { isObject, type Json, member } from '../json.ts'
import { leaf, print, type Shell } from '../shell.ts'
import { textOf } from '../text.ts'

type Options = { readonly json?: boolean; readonly store?: string }

export function auditCommands(program: Command, shell: Shell): void {
  const audit = program.command('audit').description('proof that the stored facts are whole')
  leaf(
    audit,
    'verify',
    'fold every stream again, compare state and chain hashes, and balance the ledger',
    'audit verify --store .penstock',
  )
    .option('--store <path>', 'read a data folder or a market.db itself, without a running service')
    .action(async (options: Options) => {
      const report = options.store === undefined ? await shell.ask('POST', '/audit/verify', {}) : await readStore(options.store)
      print(shell, options, report, reportText)
      const fault = faultOf(report)
      if (fault !== undefined) throw new Failure(fault)
    })
}

async function readStore(path: string): Promise<Json> {
  // Loaded only here: it brings the whole store with it, and every other command starts without.
  const { verifyStore } = await import('@penstock/standalone/audit.ts')
  try {
    return await verifyStore(path)
  } catch (error) {
    throw new Failure(`${path} cannot be verified: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function faultOf(report: Json): string | undefined {
  const first = member(report, 'first')
  if (member(report, 'divergences') !== 0 || first !== null)
    return `${of(first, 'stream')} diverges at revision ${of(first, 'revision')}: ${of(first, 'what')}`
  return member(report, 'ledger_balanced') === true ? undefined : 'The ledger does not balance.'
}

const of = (value: Json, name: string): string => {
  const found = member(value, name)
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : '?'
}

function reportText(report: Json): string {
  const counts = isObject(report) ? Object.fromEntries(Object.entries(report).filter(([name]) => name !== 'first')) : {}
  const verdict = faultOf(report) === undefined ? 'Every stream folds to its recorded state.' : 'The store is not what it was.'
  return `${verdict}\n\n${textOf(counts)}`
}
