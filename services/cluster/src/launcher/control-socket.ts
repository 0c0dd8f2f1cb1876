import { existsSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import { ConfigError } from '@penstock/config/config-error.ts'

/** A request of the command line to a launcher. `body` is its parsed JSON, undefined where it is empty. */
export type ControlRequest = { readonly path: string; readonly body: unknown }
export type ControlSocket = { close(): Promise<void> }

/** The kernel's limit for a socket's path: 108 bytes on Linux and 104 elsewhere, with the zero at its end. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/**
 * Listens on a socket in the data folder, which the command line can use even if all other processes are down. An error is
 * answered as `{"error": sentence}` with HTTP 400.
 * @throws ConfigError if the path is too long for a socket
 */
export async function openControlSocket(
  path: string,
  answer: (request: ControlRequest) => Promise<unknown>,
): Promise<ControlSocket> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    const most = MAX_PATH_BYTES - basename(path).length - 1
    throw new ConfigError(
      `${path} is too long for a socket: set PENSTOCK_DATA_DIR to a folder whose path is of at most ${most} characters.`,
    )
  }
  if (existsSync(path)) rmSync(path)
  const server = createServer((request, response) => {
    readBody(request)
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

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part as string // the encoding is set
  return text === '' ? undefined : JSON.parse(text)
}
