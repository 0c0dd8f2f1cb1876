import { existsSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import { ConfigError } from '@penstock/runtime/config.ts'

/** What the command line asks a launcher. `body` is what it sent, undefined where nothing. */
export type Asked = { readonly path: string; readonly body: unknown }
export type Door = { close(): Promise<void> }

/** Of a socket's path, by the kernel: 108 of Linux and 104 of others, with the zero at its end. */
const MOST_BYTES = process.platform === 'linux' ? 107 : 103

/**
 * Answers on a socket in the data folder, so that the command line finds it whatever else is down. What is thrown goes back
 * as `{"error": sentence}` with HTTP 400.
 * @throws ConfigError where the path is too long to be listened on
 */
export async function openDoor(path: string, answer: (asked: Asked) => Promise<unknown>): Promise<Door> {
  if (Buffer.byteLength(path) > MOST_BYTES) {
    const most = MOST_BYTES - basename(path).length - 1
    throw new ConfigError(
      `${path} is too long for a socket: set PENSTOCK_DATA_DIR to a folder whose path is of at most ${most} characters.`,
    )
  }
  if (existsSync(path)) rmSync(path)
  const server = createServer((request, response) => {
    bodyOf(request)
      .then((body) => answer({ path: request.url ?? '/', body }))
      .then(
        (value) => response.end(JSON.stringify(value)),
        (error: unknown) => {
          response.writeHead(400).end(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }))
        },
      )
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part as string // the encoding is set
  return text === '' ? undefined : JSON.parse(text)
}
