import { request } from 'node:http'
import { Failure } from './failure.ts'
import { isObject, type Json, member } from './json.ts'

/** Where a launcher of this machine answers, and what a person does who finds none. */
export type Launcher = { readonly socket: string; readonly missing: string }

const PATIENCE_MS = 110_000

/** Asks the launcher itself, so that it answers whatever else is down. @throws Failure with its own sentence where it refuses */
export async function askLauncher({ socket, missing }: Launcher, path: string, body?: object): Promise<Json> {
  const text = await new Promise<string>((resolve, reject) => {
    const asking = request({ socketPath: socket, path, method: 'POST', timeout: PATIENCE_MS }, (response) => {
      let answer = ''
      response.setEncoding('utf8').on('data', (part: string) => (answer += part))
      response.on('end', () => resolve(answer))
    })
    asking.on('timeout', () => asking.destroy(new Error('no answer in time')))
    asking.on('error', reject)
    asking.end(body && JSON.stringify(body))
  }).catch((error: unknown) => {
    throw new Failure(`${missing} (${String(error)})`)
  })
  const answer = JSON.parse(text) as Json // launchers write JSON
  const fault = isObject(answer) ? member(answer, 'error') : null
  if (typeof fault === 'string') throw new Failure(fault)
  return answer
}
