import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type LogRecord, createServerLog } from './log.ts'
import { startKurrentDouble } from './server.ts'

/**
 * Runs the test double in a process that several processes can use. `--file` names a file in which its log outlives the process,
 * and `--port` sets its port. At SIGUSR2 it closes all connections and listens again. It ends with its parent process.
 */
const { values } = parseArgs({ options: { file: { type: 'string' }, port: { type: 'string', default: '0' } } })
const { file } = values

type Line = Omit<LogRecord, 'revision' | 'position' | 'data' | 'metadata'> & { readonly data: string; readonly metadata: string }

/** Reads one batch per line. An incomplete last line is ignored, because its batch was never acknowledged. */
function readLines(path: string): readonly (readonly LogRecord[])[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((text) =>
    (JSON.parse(text) as readonly Line[]).map((line) => ({
      ...line,
      revision: 0n,
      position: 0n,
      data: Buffer.from(line.data, 'base64'),
      metadata: Buffer.from(line.metadata, 'base64'),
    })),
  )
}

const createPersist =
  (path: string) =>
  (batch: readonly LogRecord[]): void =>
    appendFileSync(
      path,
      `${JSON.stringify(
        batch.map(({ revision: _, position: __, data, metadata, ...line }) => ({
          ...line,
          data: Buffer.from(data).toString('base64'),
          metadata: Buffer.from(metadata).toString('base64'),
        })),
      )}\n`,
    )

const log = file === undefined ? createServerLog() : createServerLog(readLines(file).flat(), createPersist(file))
const server = await startKurrentDouble({ log, port: Number(values.port) })
process.once('disconnect', () => process.exit(0))
// Restarts run one after the other, because the server must not start twice at the same time.
let lastRestart = Promise.resolve()
process.on('SIGUSR2', () => {
  lastRestart = lastRestart.then(() => {
    server.stop()
    return server.start()
  })
})
process.send?.(server.url)
