import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure } from './failure.ts'
import { isObject, type Json, member } from './json.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Asks the running service, as its operator. @throws Failure with the service's own sentence where it refuses */
export type Ask = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Json>

// An audit reads every stream; everything else answers at once.
const PATIENCE_MS = 10 * 60 * 1000
const CHECKOUT = resolve(import.meta.dirname, '../../..')

const serviceUrl = (env: Env): string => (env['PENSTOCK_URL'] || 'http://127.0.0.1:8080').replace(/\/+$/, '')

export const dataDir = (env: Env): string => env['PENSTOCK_DATA_DIR'] || join(CHECKOUT, '.penstock')

export const askService =
  (env: Env): Ask =>
  async (method, path, body) => {
    const url = `${serviceUrl(env)}/operator${path}`
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${operatorToken(env)}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new Failure(unreachable(serviceUrl(env), error))
    })
    const answer = parse(await response.text())
    if (response.ok && answer !== undefined) return answer
    const sentence = isObject(answer) ? member(answer, 'error') : null
    if (typeof sentence === 'string') throw new Failure(sentence)
    throw new Failure(`${url} answered HTTP ${response.status} without a reason: is this a Penstock of the same version?`)
  }

function operatorToken(env: Env): string {
  if (env['PENSTOCK_OPERATOR_TOKEN']) return env['PENSTOCK_OPERATOR_TOKEN']
  const file = join(dataDir(env), 'operator.token')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new Failure(
      `The operator's token cannot be read from ${file}: start the service once, or set PENSTOCK_DATA_DIR or PENSTOCK_OPERATOR_TOKEN.`,
    )
  }
}

function unreachable(url: string, error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `The service at ${url} did not answer in time.`
  return `No service answers at ${url}: start it with "npm start", or set PENSTOCK_URL.`
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse yields nothing else
  } catch {
    return undefined
  }
}
