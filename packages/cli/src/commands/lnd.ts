import { bakeMacaroons, isLndRole, lndRoles } from '@penstock/platforms/lnd-bake.ts'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'

type BakeOptions = {
  readonly json?: boolean
  readonly socket: string
  readonly cert: string
  readonly admin: string
  readonly out: string
}

export function addLndCommands(program: Command, context: CommandContext): void {
  const lnd = program.command('lnd').description("permissions and macaroons of an operator's own lnd")
  addCommand(lnd, 'permissions', 'list the calls of lnd that each role needs', 'lnd permissions').action(
    (options: { json?: boolean }) => {
      const text = Object.entries(lndRoles).map(([role, calls]) => `${role}\n${calls.map((call) => `  ${call}`).join('\n')}`)
      printResult(context, options, lndRoles, () => text.join('\n\n'))
    },
  )
  addCommand(
    lnd,
    'bake',
    'make one macaroon per role, which allows only the calls that the role needs',
    'lnd bake settlement reader --cert tls.cert --admin admin.macaroon --out .',
  )
    .argument('[roles...]', `${Object.keys(lndRoles).join(', ')}; all roles if none is given`)
    .option('--socket <host:port>', "the address of lnd's gRPC", 'localhost:10009')
    .requiredOption('--cert <file>', "lnd's tls.cert")
    .requiredOption('--admin <file>', "lnd's admin.macaroon, used only to make the others")
    .option('--out <folder>', 'the folder for the macaroons', '.')
    .action(async (names: readonly string[], { json, socket, cert, admin, out }: BakeOptions) => {
      const requestedRoles = names.length === 0 ? Object.keys(lndRoles) : names
      const roles = requestedRoles.filter(isLndRole)
      const unknown = requestedRoles.find((name) => !isLndRole(name))
      if (unknown !== undefined) throw new Failure(`Unknown role ${unknown}; the roles are ${Object.keys(lndRoles).join(', ')}.`)
      const files = await bakeMacaroons({ socket, certFile: cert, macaroonFile: admin }, roles, out).catch((error: unknown) => {
        throw new Failure(`No macaroon was made: ${error instanceof Error ? error.message : String(error)}.`)
      })
      printResult(context, json ? { json } : {}, [...files], () => files.join('\n'))
    })
}
