import { Command, CommanderError } from 'commander'
import { addAuditCommands } from './commands/audit.ts'
import { addClusterCommands } from './commands/cluster.ts'
import { addLndCommands } from './commands/lnd.ts'
import { addLoadCommand } from './commands/load.ts'
import { addOrderCommands } from './commands/order.ts'
import { addPaymentCommands } from './commands/payment.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { addPayoutCommands } from './commands/payout.ts'
import { addParkCommands } from './commands/park.ts'
import { addRegtestCommands } from './commands/regtest.ts'
import { addSellerCommands } from './commands/seller.ts'
import { addSimCommands } from './commands/sim.ts'
import { addVaultCommands } from './commands/vault.ts'
import { addViewsCommands } from './commands/views.ts'
import { Failure } from './failure.ts'
import { readDecisionKey } from './decision-key.ts'
import { createOperatorCall, readDataDir, type CliEnv } from './operator-client.ts'

export type CliContext = { readonly env: CliEnv; readonly out: (text: string) => void; readonly err: (text: string) => void }

/** @returns the exit code: 0, or 1 with one sentence on `err` */
export async function runCli(args: readonly string[], { env, out, err }: CliContext): Promise<number> {
  const program = new Command('penstock')
    .description('The command line for operators of Penstock.')
    .addHelpText('after', ENVIRONMENT_HELP)
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err, outputError: (text, write) => write(toSentence(text)) })
  const context = {
    callOperator: createOperatorCall(env),
    readDecisionKey: () => readDecisionKey(env),
    out,
    dataDir: readDataDir(env),
  }
  for (const group of [
    addOrderCommands,
    addPayoutCommands,
    addPaymentCommands,
    addWebhookCommands,
    addAuditCommands,
    addParkCommands,
    addSellerCommands,
    addSimCommands,
    addViewsCommands,
    addClusterCommands,
    addLndCommands,
    addRegtestCommands,
    addVaultCommands,
  ])
    group(program, context)
  addLoadCommand(program, { ...context, env, err })
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1 // Commander has printed the message already
    if (!(error instanceof Failure)) throw error
    err(`${error.message}\n`)
    return 1
  }
}

const ENVIRONMENT_HELP = `
Environment:
  PENSTOCK_URL             where the service listens (http://127.0.0.1:8080)
  PENSTOCK_DECISION_KEY    the key for "payout decide", as "payout key" prints it beside the keyring
  PENSTOCK_OPERATOR_TOKEN  the operator's token, or PENSTOCK_OPERATOR_TOKEN_FILE a file with it;
                           else operator.token of the data folder
  PENSTOCK_DATA_DIR        the data folder (.penstock in the checkout)

Example:
  $ penstock sim nodes --json`

/** Turns Commander's "error: missing required argument 'id'" into a sentence. */
function toSentence(text: string): string {
  const message = text.replace(/^error: /, '').trim()
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.)?]$/.test(message) ? '' : '.'}\n`
}
