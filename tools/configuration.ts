import { readFileSync, writeFileSync } from 'node:fs'
import { variables } from '@penstock/runtime/config.ts'

/**
 * Writes docs/configuration.md from the table that validates the environment; `--check` only compares.
 * So the guide cannot name a variable that the code does not read, nor another default.
 */
const path = new URL('../docs/configuration.md', import.meta.url).pathname

const rows = Object.values(variables).map(({ name, means, standard }) => `| \`${name}\` | ${standard === '' ? '' : `\`${standard}\``} | ${means} |`)

export const configurationPage = `# Configuration

Settings are environment variables. They are checked at start, and all faults are reported at once; a variable that starts with \`PENSTOCK_\` and is not in this table is a fault too, so that a typing error shows. The values in force when an order begins are recorded with it: a change affects new orders only.

| variable | standard | what it sets |
|---|---|---|
${rows.join('\n')}

This page is made by \`node tools/configuration.ts\` from the code that validates the variables.
`

if (import.meta.main) {
  if (!process.argv.includes('--check')) writeFileSync(path, configurationPage)
  else if (readFileSync(path, 'utf8') !== configurationPage) {
    console.error('docs/configuration.md is not what the code validates; run: node tools/configuration.ts')
    process.exit(1)
  }
}
