import { Command, CommanderError } from 'commander'
import { auditCommands } from './commands/audit.ts'
import { clusterCommands } from './commands/cluster.ts'
import { lndCommands } from './commands/lnd.ts'
import { loadCommand } from './commands/load.ts'
import { orderCommands } from './commands/order.ts'
import { payoutCommands } from './commands/payout.ts'
import { parkCommands } from './commands/park.ts'
import { regtestCommands } from './commands/regtest.ts'
import { sellerCommands } from './commands/seller.ts'
import { simCommands } from './commands/sim.ts'
import { viewsCommands } from './commands/views.ts'
import { Failure } from './failure.ts'
import { askService, dataDir, type Env } from './operator.ts'

export type Surroundings = { readonly env: Env; readonly out: (text: string) => void; readonly err: (text: string) => void }

/** @returns the exit code: 0, or 1 with one sentence on `err` */
export async function runCli(args: readonly string[], { env, out, err }: Surroundings): Promise<number> {
  const program = new Command('penstock')
    .description('The command line for operators of Penstock.')
    .addHelpText('after', surroundingsHelp)
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err, outputError: (text, write) => write(asSentence(text)) })
  const shell = { ask: askService(env), out, dataDir: dataDir(env) }
  for (const group of [
    orderCommands,
    payoutCommands,
    auditCommands,
    parkCommands,
    sellerCommands,
    simCommands,
    viewsCommands,
    clusterCommands,
    lndCommands,
    regtestCommands,
  ])
    group(program, shell)
  loadCommand(program, { ...shell, env, err })
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1 // it has printed its text already
    if (!(error instanceof Failure)) throw error
    err(`${error.message}\n`)
    return 1
  }
}

const surroundingsHelp = `
Environment:
  PENSTOCK_URL             where the service listens (http://127.0.0.1:8080)
  PENSTOCK_OPERATOR_TOKEN  the operator's token, or PENSTOCK_OPERATOR_TOKEN_FILE a file with it;
                           else operator.token of the data folder
  PENSTOCK_DATA_DIR        the data folder (.penstock in the checkout)

Example:
  $ penstock sim nodes --json`

/** Commander's "error: missing required argument 'id'" as the sentence that it is. */
function asSentence(text: string): string {
  const message = text.replace(/^error: /, '').trim()
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.)?]$/.test(message) ? '' : '.'}\n`
}
