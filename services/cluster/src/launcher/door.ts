import { existsSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'

/** What the command line asks a launcher. `body` is what it sent, undefined where nothing. */
export type Asked = { readonly path: string; readonly body: unknown }
export type Door = { close(): Promise<void> }

/**
 * Answers on a socket in the data folder, so that the command line finds it whatever else is down. What is thrown goes back
 * as `{"error": sentence}` with HTTP 400.
 */
export async function openDoor(path: string, answer: (asked: Asked) => Promise<unknown>): Promise<Door> {
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
