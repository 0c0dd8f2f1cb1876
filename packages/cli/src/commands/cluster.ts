import { clusterSocket } from '@penstock/platforms/data-dir.ts'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { isList, type Json, member, objectsOf } from '../json.ts'
import { askLauncher } from '../launcher.ts'
import { leaf, print, type Shell } from '../shell.ts'
import { table } from '../text.ts'

export function clusterCommands(program: Command, shell: Shell): void {
  const cluster = program.command('cluster').description('the processes of a cluster on this machine (npm run cluster)')
  leaf(cluster, 'ps', 'every process with its state, and how many commands and facts it has handled', 'cluster ps --json').action(
    async (options: { json?: boolean }) => {
      const rows = await processes(shell.dataDir)
      // A process id is a name, not an amount.
      print(shell, options, rows, (answer) =>
        table(objectsOf(answer).map((row) => ({ ...row, pid: JSON.stringify(member(row, 'pid')) }))),
      )
    },
  )
}

async function processes(dataDir: string): Promise<Json> {
  const missing = `No cluster of ${dataDir} answers: start it with "npm run cluster", or set PENSTOCK_DATA_DIR.`
  const rows = await askLauncher({ socket: clusterSocket(dataDir), missing }, '/')
  if (!isList(rows)) throw new Failure('The launcher answered something else than a list of processes.')
  return rows
}
