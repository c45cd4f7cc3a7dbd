import { expect, it } from 'vitest';
import { createMetrics, type Measurement } from '../../shared/observability/metrics.ts';

function emitted(measurement: Measurement) {
  const lines: string[] = [];
  createMetrics((line) => lines.push(line)).emit(measurement);
  return lines.map((line) => JSON.parse(line));
}

it('writes a measurement as one line in the embedded metric format', () => {
  const line = emitted({
    dimensions: { Group: 'etl' },
    metrics: { Failures: 3, Lateness: { value: 1.5, unit: 'Seconds' } },
    properties: { cycleId: 7 },
  });
  expect(line).toEqual([
    {
      _aws: {
        Timestamp: expect.any(Number),
        CloudWatchMetrics: [
          {
            Namespace: 'Waybill',
            Dimensions: [['Group']],
            Metrics: [
              { Name: 'Failures', Unit: 'Count' },
              { Name: 'Lateness', Unit: 'Seconds' },
            ],
          },
        ],
      },
      Group: 'etl',
      Failures: 3,
      Lateness: 1.5,
      cycleId: 7,
    },
  ]);
});

it('a measurement without dimensions has one empty set of them, so that it is a single series', () => {
  expect(emitted({ metrics: { InvariantViolations: 0 } })[0]._aws.CloudWatchMetrics[0].Dimensions).toEqual([[]]);
});

it('leaves out what is not a finite number, and writes nothing when nothing is left', () => {
  expect(emitted({ metrics: { Good: 1, Bad: Number.NaN } })[0]._aws.CloudWatchMetrics[0].Metrics).toEqual([
    { Name: 'Good', Unit: 'Count' },
  ]);
  expect(emitted({ metrics: { Bad: Number.POSITIVE_INFINITY } })).toEqual([]);
});

it('no property can take the place of a measured value', () => {
  expect(emitted({ metrics: { Failures: 3 }, properties: { Failures: 0, _aws: {} } })[0]).toMatchObject({
    Failures: 3,
    _aws: { CloudWatchMetrics: [{ Namespace: 'Waybill' }] },
  });
});
