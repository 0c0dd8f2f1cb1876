import { bakeMacaroons, isRole, lndRoles } from '@penstock/platforms/lnd-bake.ts'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { leaf, print, type Shell } from '../shell.ts'

type Options = {
  readonly json?: boolean
  readonly socket: string
  readonly cert: string
  readonly admin: string
  readonly out: string
}

export function lndCommands(program: Command, shell: Shell): void {
  const lnd = program.command('lnd').description("what an operator's own lnd needs to work for Penstock")
  leaf(lnd, 'permissions', 'the calls of lnd that each role needs', 'lnd permissions').action((options: { json?: boolean }) => {
    const text = Object.entries(lndRoles).map(([role, calls]) => `${role}\n${calls.map((call) => `  ${call}`).join('\n')}`)
    print(shell, options, lndRoles, () => text.join('\n\n'))
  })
  leaf(
    lnd,
    'bake',
    'makes a macaroon for each role that allows what the role needs and nothing else',
    'lnd bake settlement reader --cert tls.cert --admin admin.macaroon --out .',
  )
    .argument('[roles...]', `${Object.keys(lndRoles).join(', ')}; all where none is named`)
    .option('--socket <host:port>', "lnd's gRPC", 'localhost:10009')
    .requiredOption('--cert <file>', "lnd's tls.cert")
    .requiredOption('--admin <file>', "lnd's admin.macaroon, for this once")
    .option('--out <folder>', 'where the macaroons are put', '.')
    .action(async (names: readonly string[], { json, socket, cert, admin, out }: Options) => {
      const wanted = names.length === 0 ? Object.keys(lndRoles) : names
      const roles = wanted.filter(isRole)
      const unknown = wanted.find((name) => !isRole(name))
      if (unknown !== undefined) throw new Failure(`There is no role ${unknown}: ${Object.keys(lndRoles).join(', ')}.`)
      const files = await bakeMacaroons({ socket, certFile: cert, macaroonFile: admin }, roles, out).catch((error: unknown) => {
        throw new Failure(`No macaroon was made: ${error instanceof Error ? error.message : String(error)}.`)
      })
      print(shell, json ? { json } : {}, [...files], () => files.join('\n'))
    })
}
