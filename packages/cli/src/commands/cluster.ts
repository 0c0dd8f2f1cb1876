import { clusterSocket } from '@penstock/config/data-dir.ts'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { isList, type Json, getMember, filterObjects } from '../json.ts'
import { callLauncher } from '../launcher-client.ts'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'
import { formatTable } from '../text-format.ts'

export function addClusterCommands(program: Command, context: CommandContext): void {
  const cluster = program.command('cluster').description('the processes of a cluster on this machine (npm run cluster)')
  addCommand(
    cluster,
    'ps',
    'list every process with its state and its numbers of handled commands and facts',
    'cluster ps --json',
  ).action(async (options: { json?: boolean }) => {
    const rows = await listProcesses(context.dataDir)
    // A process id is not an amount, so it is printed without digit grouping.
    printResult(context, options, rows, (answer) =>
      formatTable(filterObjects(answer).map((row) => ({ ...row, pid: JSON.stringify(getMember(row, 'pid')) }))),
    )
  })
}

async function listProcesses(dataDir: string): Promise<Json> {
  const missingHint = `No cluster of ${dataDir} answers: start it with "npm run cluster", or set PENSTOCK_DATA_DIR.`
  const rows = await callLauncher({ socket: clusterSocket(dataDir), missingHint }, '/')
  if (!isList(rows)) throw new Failure('The launcher did not answer with a list of processes.')
  return rows
}
