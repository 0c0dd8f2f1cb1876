import type { Express, Request, Response } from 'express'
import type { Gateway } from '../ports.ts'

/** `/healthz`: the process runs. `/readyz`: the process can serve; the metrics show the state of its dependencies. */
export function mountHealthRoutes(app: Express, { readiness }: Pick<Gateway, 'readiness'>): void {
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
