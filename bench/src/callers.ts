import { Agent, request } from 'node:http'
import { quantile } from './harness.ts'

export type Call = (body: string) => Promise<string>

/** Posts JSON over connections that stay open, as many as callers. */
export function poster(url: string, callers: number): { readonly call: Call; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const options = { method: 'POST', agent, headers: { 'content-type': 'application/json' } }
  return {
    call: (body) =>
      new Promise((resolve, reject) => {
        const sent = request(
          url,
          { ...options, headers: { ...options.headers, 'content-length': Buffer.byteLength(body) } },
          (response) => {
            let text = ''
            response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
            response.on('end', () =>
              response.statusCode === 200 ? resolve(text) : reject(new Error(`HTTP ${response.statusCode}: ${text}`)),
            )
          },
        )
        sent.on('error', reject).end(body)
      }),
    close: () => agent.destroy(),
  }
}

/** Callers that each call again as soon as they are answered. @returns milliseconds: the median and the 99th percentile */
export async function latencies(callers: number, calls: number, call: () => Promise<void>): Promise<readonly [number, number]> {
  const taken: number[] = []
  let left = calls
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now()
      await call()
      taken.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return [quantile(taken, 0.5), quantile(taken, 0.99)]
}
