// Embosses the middle of a cv::Mat with a function that is made from a Forma program, and
// compares it with the same in OpenCV's operators (section 5.2 of the paper).
//
//   parhelion forma emit apps/forma/emboss.forma -o emboss.c
//   gcc -O3 -march=native -fopenmp -c emboss.c
//   g++ -I. -I/usr/include/opencv4 -c apps/forma/opencv/emboss.cpp -o main.o
//   g++ main.o emboss.o -fopenmp -lopencv_core -lm -o emboss && ./emboss
//
// A Mat of float is what the function takes, as long as its rows lie without gaps
// (isContinuous); a part of a larger one is cloned.

#include <cstdio>
#include <opencv2/core.hpp>

#include "emboss.h"

// An image embossed by the function of emboss.forma; its rim is zero.
static cv::Mat embossed(const cv::Mat &image) {
  CV_Assert(image.type() == CV_32FC1);
  const cv::Mat whole = image.isContinuous() ? image : image.clone();
  cv::Mat result(whole.size(), CV_32FC1);
  const int code =
      emboss(whole.ptr<float>(), whole.cols, whole.rows, result.ptr<float>());
  if (code != 0) CV_Error(cv::Error::StsBadArg, cv::format("emboss returns %d", code));
  return result;
}

// The same with OpenCV: sums of the image's parts that are moved by one.
static cv::Mat expected(const cv::Mat &image) {
  const cv::Rect inner(1, 1, image.cols - 2, image.rows - 2);
  const auto moved = [&](int x, int y) { return image(inner + cv::Point(x, y)); };
  cv::Mat result = cv::Mat::zeros(image.size(), CV_32FC1);
  cv::Mat sum = moved(1, 0) + moved(0, 1) - moved(-1, 0) - moved(0, -1) + moved(0, 0);
  sum.copyTo(result(inner));
  return result;
}

int main() {
  cv::Mat photo(480, 640, CV_32FC1);
  cv::randu(photo, 0.0f, 1.0f);
  const cv::Mat part = photo(cv::Rect(100, 50, 300, 200));
  for (const cv::Mat &image : {photo, part}) {
    const double apart = cv::norm(embossed(image), expected(image), cv::NORM_INF);
    std::printf("%d x %d: largest difference %g\n", image.cols, image.rows, apart);
    if (apart > 1e-6) return 1;
  }
  return 0;
}
