const NAMESPACE = 'Waybill';

export type MetricUnit = 'Count' | 'Seconds' | 'Milliseconds' | 'Bytes' | 'Percent' | 'None';

export interface Measurement {
  /** What the values are told apart by. Every combination is a metric that is paid for: groups, never manifests. */
  dimensions?: Record<string, string>;
  /** Values by name; a bare number is a count. Several values of one metric keep its distribution. */
  metrics: Record<string, number | { value: number | number[]; unit: MetricUnit }>;
  /** What else the line should say. It can be searched in the log and costs no metric. */
  properties?: Record<string, unknown>;
}

export interface Metrics {
  emit(measurement: Measurement): void;
}

/** CloudWatch takes no more values of one metric in a line. */
const MOST_VALUES = 100;

/**
 * Writes measurements as log lines in CloudWatch's embedded metric format: CloudWatch makes metrics of them by itself, without a call, a permission or a
 * wait in the function. A value that is no finite number is left out, because CloudWatch would drop the whole line for it. More values of one metric than a line
 * takes go on in further lines, in which those that are said already are not counted again.
 */
export function createMetrics(write: (line: string) => void = (line) => process.stdout.write(`${line}\n`)): Metrics {
  return {
    emit({ dimensions = {}, metrics, properties = {} }) {
      const values = Object.entries(metrics)
        .map(([name, metric]) => ({ name, unit: 'Count' as MetricUnit, ...(typeof metric === 'number' ? { value: metric } : metric) }))
        .map((metric) => ({ ...metric, parts: partition(metric.value) }));
      const lineCount = Math.max(0, ...values.map(({ parts }) => parts.length));
      for (let line = 0; line < lineCount; line++) {
        const said = values.flatMap(({ name, unit, parts }) => (parts[line] === undefined ? [] : [{ name, unit, value: parts[line] }]));
        const directive = {
          Namespace: NAMESPACE,
          // One set of dimensions, which may be empty: then the metric is a single series.
          Dimensions: [Object.keys(dimensions)],
          Metrics: said.map(({ name, unit }) => ({ Name: name, Unit: unit })),
        };
        write(
          JSON.stringify({
            ...properties,
            ...dimensions,
            ...Object.fromEntries(said.map(({ name, value }) => [name, value])),
            _aws: { Timestamp: Date.now(), CloudWatchMetrics: [directive] },
          }),
        );
      }
    },
  };
}

/** The finite values, as many together as a line takes. */
function partition(value: number | number[]): (number | number[])[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [value] : [];
  const values = value.filter(Number.isFinite);
  return Array.from({ length: Math.ceil(values.length / MOST_VALUES) }, (_, part) =>
    values.slice(part * MOST_VALUES, (part + 1) * MOST_VALUES),
  );
}
