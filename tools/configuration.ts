import { readFileSync, writeFileSync } from 'node:fs'
import { variables } from '@penstock/runtime/config.ts'

const PAGE = new URL('../docs/configuration.md', import.meta.url)

const row = ({ name, means, standard }: { readonly name: string; readonly means: string; readonly standard: string }): string =>
  `| \`${name}\` | ${standard === '' ? '' : `\`${standard}\``} | ${means} |`

/** The guide's table of settings, from the code that validates them: it can name no other variable and no other default. */
const page = `# Configuration

Settings are environment variables. They are checked at start, and all faults are reported at once; a variable that starts with \`PENSTOCK_\` and is not in this table is named at start, so that a typing error shows. Fee, windows, confirmations, attempts and lease that are in force when an order begins are recorded with it: a change of these affects new orders only.

| variable | standard | what it sets |
|---|---|---|
${Object.values(variables).map(row).join('\n')}

This page is made by \`node tools/configuration.ts\`.
`

/** @returns whether docs/configuration.md is what the code says */
export const configurationIsCurrent = (): boolean => readFileSync(PAGE, 'utf8') === page

if (import.meta.main) writeFileSync(PAGE, page)
