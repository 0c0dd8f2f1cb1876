import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type LogRecord, serverLog } from './log.ts'
import { kurrentDouble } from './server.ts'

/**
 * The double as a process of its own, for processes that share it. `--file` keeps its log through the process's end, `--port`
 * is where it listens. SIGUSR2 breaks everything off and listens again. It ends with whoever has started it.
 */
const { values } = parseArgs({ options: { file: { type: 'string' }, port: { type: 'string', default: '0' } } })
const { file } = values

type Line = Omit<LogRecord, 'revision' | 'position' | 'data' | 'metadata'> & { readonly data: string; readonly metadata: string }

/** A batch is one line, and half a line at the end was never acknowledged. */
function readLines(path: string): readonly (readonly LogRecord[])[] {
  if (!existsSync(path)) return []
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return whole.map((text) =>
    (JSON.parse(text) as readonly Line[]).map((line) => ({
      ...line,
      revision: 0n,
      position: 0n,
      data: Buffer.from(line.data, 'base64'),
      metadata: Buffer.from(line.metadata, 'base64'),
    })),
  )
}

const keep =
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

const log = file === undefined ? serverLog() : serverLog(readLines(file).flat(), keep(file))
const server = await kurrentDouble({ log, port: Number(values.port) })
process.once('disconnect', () => process.exit(0))
// One after the other: to listen cannot be begun again while it begins.
let turn = Promise.resolve()
process.on('SIGUSR2', () => {
  turn = turn.then(() => {
    server.stop()
    return server.start()
  })
})
process.send?.(server.url)
