import type { Command } from 'commander'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'

/** A seller reads this before it runs an agent. */
const RISK = `
A seller funds a channel before it is paid. If the market cannot prove the channel in time, for example because the buyer's
node hides, the payment returns to the buyer. The seller then loses the fees of the funding and of the close. See "The
seller's risk" in docs/guides/mainnet.md.`

type GrantOptions = { readonly json?: boolean; readonly reason: string }

export function addSellerCommands(program: Command, context: CommandContext): void {
  const seller = program.command('seller').description('manage sellers and their clusters').addHelpText('after', RISK)
  addCommand(
    seller,
    'grant',
    'admit a seller to the rails cluster, independent of its score',
    'seller grant 02ab…ef --reason "known for years"',
  )
    .argument('<pubkey>', "the seller's node")
    .requiredOption('--reason <text>', 'the reason, which the facts record')
    .action(async (pubkey: string, { json, reason }: GrantOptions) => {
      const answer = await context.callOperator('POST', '/sellers/grant', { pubkey, reason })
      printResult(context, json === undefined ? {} : { json }, answer, () => `${pubkey} belongs to the rails cluster.`)
    })
}
