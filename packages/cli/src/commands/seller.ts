import type { Command } from 'commander'
import { leaf, print, type Shell } from '../shell.ts'

type Grant = { readonly json?: boolean; readonly reason: string }

export function sellerCommands(program: Command, shell: Shell): void {
  const seller = program.command('seller').description('sellers and their clusters')
  leaf(
    seller,
    'grant',
    'admit a seller to the rails cluster, whatever its score',
    'seller grant 02ab…ef --reason "known for years"',
  )
    .argument('<pubkey>', "the seller's node")
    .requiredOption('--reason <text>', 'why; it is recorded')
    .action(async (pubkey: string, { json, reason }: Grant) => {
      const answer = await shell.ask('POST', '/sellers/grant', { pubkey, reason })
      print(shell, json === undefined ? {} : { json }, answer, () => `${pubkey} belongs to the rails cluster.`)
    })
}
