import type { Express, Request, Response } from 'express'
import type { Gateway } from '../ports.ts'

/** `/healthz`: the process lives. `/readyz`: it can serve; what it depends on shows in the metrics. */
export function healthRoutes(app: Express, { readiness }: Pick<Gateway, 'readiness'>): void {
  app.get('/healthz', (_: Request, response: Response) => {
    response.json({ status: 'ok' })
  })
  app.get('/readyz', async (_: Request, response: Response) => {
    const missing = await readiness()
    response
      .status(missing === undefined ? 200 : 503)
      .json(missing === undefined ? { status: 'ready' } : { status: 'not ready', missing })
  })
}
