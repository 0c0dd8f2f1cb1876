import type { RequestHandler, Response } from 'express'
import type { Gateway } from '../ports.ts'

/**
 * Nobody is served before the read models have caught up; later the process knows that it was ready.
 * @param refuse writes the body of the 503
 */
export function whenReady({ readiness }: Pick<Gateway, 'readiness'>, refuse: (response: Response) => void): RequestHandler {
  let wasReady = false
  return async (_, response, next) => {
    wasReady ||= (await readiness()) === undefined
    if (wasReady) return next()
    response.status(503).set('retry-after', '1')
    refuse(response)
  }
}
