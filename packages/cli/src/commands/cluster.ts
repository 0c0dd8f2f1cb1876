import { request } from 'node:http'
import { clusterSocket } from '@penstock/platforms/data-dir.ts'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { isList, type Json, member, objectsOf } from '../json.ts'
import { leaf, print, type Shell } from '../shell.ts'
import { table } from '../text.ts'

const PATIENCE_MS = 10_000

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

/** Asks the launcher itself, so that it answers whatever else is down. */
async function processes(dataDir: string): Promise<Json> {
  const text = await new Promise<string>((resolve, reject) => {
    const asking = request({ socketPath: clusterSocket(dataDir), path: '/', timeout: PATIENCE_MS }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (part: string) => (body += part))
      response.on('end', () => resolve(body))
    })
    asking.on('timeout', () => asking.destroy(new Error('no answer in time')))
    asking.on('error', reject)
    asking.end()
  }).catch((error: unknown) => {
    throw new Failure(
      `No cluster of ${dataDir} answers: start it with "npm run cluster", or set PENSTOCK_DATA_DIR. (${String(error)})`,
    )
  })
  const rows = JSON.parse(text) as Json // the launcher writes JSON
  if (!isList(rows)) throw new Failure('The launcher answered something else than a list of processes.')
  return rows
}
