import { request } from 'node:http'
import { Failure } from './failure.ts'
import { isObject, type Json, getMember } from './json.ts'

/** The socket of a launcher on this machine, and the error message for the user if no launcher answers there. */
export type LauncherAddress = { readonly socket: string; readonly missingHint: string }

const TIMEOUT_MS = 110_000

/** Sends a request to the launcher, which answers even while services are down. @throws Failure with its error message */
export async function callLauncher({ socket, missingHint }: LauncherAddress, path: string, body?: object): Promise<Json> {
  const text = await new Promise<string>((resolve, reject) => {
    const clientRequest = request({ socketPath: socket, path, method: 'POST', timeout: TIMEOUT_MS }, (response) => {
      let answer = ''
      response.setEncoding('utf8').on('data', (part: string) => (answer += part))
      response.on('end', () => resolve(answer))
    })
    clientRequest.on('timeout', () => clientRequest.destroy(new Error('no answer in time')))
    clientRequest.on('error', reject)
    clientRequest.end(body && JSON.stringify(body))
  }).catch((error: unknown) => {
    throw new Failure(`${missingHint} (${String(error)})`)
  })
  const answer = JSON.parse(text) as Json // launchers write JSON
  const refusal = isObject(answer) ? getMember(answer, 'error') : null
  if (typeof refusal === 'string') throw new Failure(refusal)
  return answer
}
