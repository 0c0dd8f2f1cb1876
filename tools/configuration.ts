import { variables } from '@penstock/config/config.ts'
import type { GeneratedFiles } from './generated-files.ts'

const renderRow = ({
  name,
  description,
  defaultValue,
}: {
  readonly name: string
  readonly description: string
  readonly defaultValue: string
}): string => `| \`${name}\` | ${defaultValue === '' ? '' : `\`${defaultValue}\``} | ${description} |`

/** The page of all settings. It is generated from the code that validates them, so variables and defaults always match. */
const page = `# Configuration

Settings are environment variables. They are checked at start, and all faults are reported at once; a variable that starts with \`PENSTOCK_\` and is not in this table is named at start, so that a typing error shows. Fee, windows, confirmations, attempts and lease that are in force when an order begins are recorded with it: a change of these affects new orders only.

| variable | standard | what it sets |
|---|---|---|
${Object.values(variables).map(renderRow).join('\n')}

This page is made by \`npm run generate\`.
`

export const renderConfigurationPage = (): GeneratedFiles => new Map([['docs/configuration.md', page]])
