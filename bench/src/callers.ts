import { Agent, request } from 'node:http'
import { measureRate, computeQuantile } from './harness.ts'

export type JsonCall = (body: string) => Promise<string>

/** Posts JSON over persistent connections, one per caller. */
export function openJsonClient(
  url: string,
  callers: number,
  headers: Readonly<Record<string, string>> = {},
): { readonly call: JsonCall; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  return {
    call: (body) =>
      new Promise((resolve, reject) => {
        const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
        const clientRequest = request(url, { method: 'POST', agent, headers: { ...headers, ...length } }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.on('end', () =>
            response.statusCode === 200 ? resolve(text) : reject(new Error(`HTTP ${response.statusCode}: ${text}`)),
          )
        })
        clientRequest.on('error', reject).end(body)
      }),
    close: () => agent.destroy(),
  }
}

/** Runs callers that each repeat the call as soon as it is answered. @returns the duration of each call in milliseconds */
export async function measureDurations(callers: number, calls: number, call: () => Promise<unknown>): Promise<readonly number[]> {
  const durationsMs: number[] = []
  let remaining = calls
  const callRepeatedly = async (): Promise<void> => {
    while (remaining-- > 0) {
      const startedAt = performance.now()
      await call()
      durationsMs.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: callers }, callRepeatedly))
  return durationsMs
}

/** @returns milliseconds: the median and the 99th percentile */
export async function measureLatencies(
  callers: number,
  calls: number,
  call: () => Promise<unknown>,
): Promise<readonly [number, number]> {
  const durationsMs = await measureDurations(callers, calls, call)
  return [computeQuantile(durationsMs, 0.5), computeQuantile(durationsMs, 0.99)]
}

/** @returns calls per second */
export const measureThroughput = (callers: number, calls: number, call: () => Promise<unknown>): Promise<number> =>
  measureRate(calls, async () => void (await measureDurations(callers, calls, call)))
