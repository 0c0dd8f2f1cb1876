import type { RequestHandler, Response } from 'express'
import type { Gateway } from '../ports.ts'

/**
 * Refuses requests until the process is ready for the first time. A later loss of readiness has no effect.
 * @param refuse writes the body of the 503
 */
export function createReadinessGate(
  { readiness }: Pick<Gateway, 'readiness'>,
  refuse: (response: Response) => void,
): RequestHandler {
  let wasReady = false
  return async (_, response, next) => {
    wasReady ||= (await readiness()) === undefined
    if (wasReady) return next()
    response.status(503).set('retry-after', '1')
    refuse(response)
  }
}
