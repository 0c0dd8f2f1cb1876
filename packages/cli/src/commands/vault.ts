import { existsSync } from 'node:fs'
import { createVault, publishVault, rotateVault, vaultFilesOf } from '@penstock/platforms/vault.ts'
import type { Command } from 'commander'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'
import { Failure } from '../failure.ts'

type VaultOptions = { readonly json?: boolean; readonly dir: string }

/** Commands on key files. They use no running service, so that an operator can keep the private keys elsewhere. */
export function addVaultCommands(program: Command, context: CommandContext): void {
  const vault = program.command('vault').description('keys that seal webhook secrets and macaroons')
  const add = (name: string, description: string, run: (folder: string) => string) =>
    addCommand(vault, name, description, `vault ${name} --dir .`)
      .option('--dir <folder>', 'the folder of vault.json and vault.pub.json', context.dataDir)
      .action(({ json, dir }: VaultOptions) => {
        const done = runOrFail(() => run(dir))
        const { privateFile, publicFile } = vaultFilesOf(dir)
        const answer = { done, private_file: privateFile, public_file: publicFile }
        printResult(
          context,
          json ? { json } : {},
          answer,
          () => `${done}\nprivate keys: ${privateFile}\npublic keys: ${publicFile}`,
        )
      })

  add('keygen', 'make a vault with a first key', (folder) => {
    const { privateFile } = vaultFilesOf(folder)
    if (existsSync(privateFile)) throw new Failure(`${privateFile} exists already; add a key with "penstock vault rotate".`)
    createVault(folder)
    return 'A vault was made.'
  })
  add('rotate', 'add a key and make it current', (folder) => `The key "${rotateVault(folder)}" is current now.`)
  add('publish', 'write vault.pub.json again, after a change of vault.json', (folder) => {
    publishVault(folder)
    return 'The public keys were written.'
  })
}

function runOrFail<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`Nothing was changed: ${error instanceof Error ? error.message : String(error)}`)
  }
}
