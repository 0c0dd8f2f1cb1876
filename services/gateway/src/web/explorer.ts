import type { Express, Request, Response } from 'express'
import { readFileSync } from 'node:fs'
import { schemaText } from '../graphql/schema.ts'

const file = (name: string): string => readFileSync(new URL(`../explorer/${name}`, import.meta.url), 'utf8')

/** A page to try the interface with, of our own: it loads nothing from elsewhere. */
export function explorerRoutes(app: Express): void {
  const text = (path: string, type: string, body: string): void => {
    app.get(path, (_: Request, response: Response) => {
      response.type(type).send(body)
    })
  }
  text('/graphql', 'html', file('explorer.html'))
  text('/graphql/explorer.mjs', 'text/javascript', file('explorer.mjs'))
  text('/graphql/explorer.css', 'css', file('explorer.css'))
  text('/graphql/schema.graphql', 'text/plain', schemaText())
}
